//! A [`Radio`] over any port of raw Ethernet frames: virtio-net in the image, a queue in tests.
//!
//! # Layout
//! The packet air of `slyfi-linux`, so that both hear each other on one wire:
//! `broadcast 6 | ADDRESS_OF_ALL 6 | 0x88B5 | radiotap | 802.11 frame`.

use slyfi_base::{
    Capabilities, Instant, MacAddress, Radio, RadioChange, RadioConfig, RxMeta, TxMeta,
};
use slyfi_wire::carrier::ADDRESS_OF_ALL;
use slyfi_wire::radiotap::{self, Radiotap};

/// Bytes of an Ethernet header without VLAN tag (IEEE 802.3-2022 §3.1.1).
pub const HEADER_LEN: usize = 14;

/// IEEE Std 802-2014 §9.2.4, Local Experimental EtherType 1.
const ETHERTYPE: [u8; 2] = 0x88b5_u16.to_be_bytes();

/// Frames that one `read` looks at before its caller has its turn again: junk must not keep it from
/// its timers.
const READ_LIMIT: usize = 64;

/// A network interface that moves whole Ethernet frames, without blocking.
pub trait Port {
    /// Why it cannot go on.
    type Error;

    /// Returns the most bytes that a frame may have after its Ethernet header.
    fn mtu(&self) -> usize;

    /// Hands the next received frame to `take`; `None` when there is none now.
    ///
    /// # Errors
    /// When the device is gone.
    fn receive<T>(&mut self, take: impl FnOnce(&mut [u8]) -> T) -> Result<Option<T>, Self::Error>;

    /// Sends a frame of `len` bytes, which `fill` writes; `false` when there is no room now, and then
    /// `fill` is not called.
    ///
    /// # Errors
    /// When the device is gone, or never takes frames of this length.
    fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<bool, Self::Error>;
}

/// Why the radio cannot do what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RadioError<E> {
    /// The port failed.
    Port(E),
    /// A wire has no frequency and no power.
    CannotChange,
    /// The frame is longer than [`Capabilities::max_frame`].
    TooLong,
}

/// 802.11 frames inside Ethernet, as `slyfi-linux`'s packet air has them.
#[derive(Debug)]
pub struct EthernetRadio<P> {
    port: P,
}

impl<P: Port> EthernetRadio<P> {
    /// Makes a radio of a port that is up.
    pub const fn new(port: P) -> Self {
        EthernetRadio { port }
    }
}

impl<P: Port> Radio for EthernetRadio<P> {
    type Error = RadioError<P::Error>;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            max_frame: self.port.mtu().saturating_sub(radiotap::TX_HEADER_LEN),
            injects: true,
            sets_channel: false,
            keeps_order: true,
        }
    }

    fn initialize(&mut self, _: Instant, config: &RadioConfig) -> Result<(), Self::Error> {
        match config {
            RadioConfig { frequency: None, power: None } => Ok(()),
            _ => Err(RadioError::CannotChange),
        }
    }

    fn reset(&mut self, _: Instant) -> Result<(), Self::Error> {
        // No more than a device's queue holds: the wire may go on filling it.
        for _ in 0..1024 {
            if self.port.receive(|_| ()).map_err(RadioError::Port)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn configure(&mut self, _: Instant, _: RadioChange) -> Result<(), Self::Error> {
        Err(RadioError::CannotChange)
    }

    fn read(&mut self, _: Instant, buf: &mut [u8]) -> Result<Option<(RxMeta, usize)>, Self::Error> {
        for _ in 0..READ_LIMIT {
            let taken = self.port.receive(|frame| unwrap(frame, buf)).map_err(RadioError::Port)?;
            match taken {
                None => return Ok(None),
                Some(Some(frame)) => return Ok(Some(frame)),
                Some(None) => {}
            }
        }
        Ok(None)
    }

    fn write(&mut self, _: Instant, meta: TxMeta, frame: &[u8]) -> Result<bool, Self::Error> {
        if frame.len() > self.capabilities().max_frame {
            return Err(RadioError::TooLong);
        }
        let header = radiotap::tx_header(meta.rate);
        let len = HEADER_LEN + header.len() + frame.len();
        let fill = |out: &mut [u8]| {
            let parts: [&[u8]; 5] =
                [&MacAddress::BROADCAST.0, &ADDRESS_OF_ALL, &ETHERTYPE, &header, frame];
            let mut rest = out;
            for part in parts {
                let (here, behind) = rest.split_at_mut(part.len());
                here.copy_from_slice(part);
                rest = behind;
            }
        };
        self.port.send(len, fill).map_err(RadioError::Port)
    }
}

/// Takes the wrappings off; `None` for what is no frame of ours or does not fit.
fn unwrap(frame: &[u8], buf: &mut [u8]) -> Option<(RxMeta, usize)> {
    let (header, packet) = frame.split_first_chunk::<HEADER_LEN>()?;
    if header[12..] != ETHERTYPE {
        return None;
    }
    let radiotap = Radiotap::new_checked(packet).ok()?;
    let inner = radiotap.frame();
    buf.get_mut(..inner.len())?.copy_from_slice(inner);
    Some((radiotap.info().meta(), inner.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::vec;
    use std::vec::Vec;

    /// A port whose sent frames come back.
    #[derive(Default)]
    struct Loop {
        queue: VecDeque<Vec<u8>>,
        is_full: bool,
    }

    impl Port for Loop {
        type Error = ();
        fn mtu(&self) -> usize {
            1500
        }
        fn receive<T>(&mut self, take: impl FnOnce(&mut [u8]) -> T) -> Result<Option<T>, ()> {
            Ok(self.queue.pop_front().map(|mut frame| take(&mut frame)))
        }
        fn send(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<bool, ()> {
            if !self.is_full {
                let mut frame = vec![0; len];
                fill(&mut frame);
                self.queue.push_back(frame);
            }
            Ok(!self.is_full)
        }
    }

    const NOW: Instant = Instant::ZERO;

    fn radio(frames: impl IntoIterator<Item = Vec<u8>>) -> EthernetRadio<Loop> {
        let port = Loop { queue: frames.into_iter().collect(), is_full: false };
        let mut radio = EthernetRadio::new(port);
        radio.initialize(NOW, &RadioConfig::default()).unwrap();
        radio
    }

    #[test]
    fn frames_are_wrapped_as_the_packet_air_does_it_and_come_out_again() {
        let mut radio = radio([]);
        assert_eq!(radio.write(NOW, TxMeta::default(), b"frame"), Ok(true));
        let mut wire = vec![0xff; 6];
        wire.extend(*b"\x02SLYF\x01\x88\xb5");
        wire.extend([0, 0, 12, 0, 0x04, 0x80, 0, 0, 12, 0, 0x38, 0]);
        wire.extend(b"frame");
        assert_eq!(radio.port.queue, [wire]);
        let mut buf = [0; 5];
        let (meta, len) = radio.read(NOW, &mut buf).unwrap().unwrap();
        assert_eq!((&buf[..len], meta.rate), (&b"frame"[..], Some(TxMeta::default().rate)));
        assert_eq!(radio.read(NOW, &mut buf), Ok(None));
    }

    #[test]
    fn junk_is_passed_over_and_does_not_hold_its_reader() {
        let mut good = radio([]);
        good.write(NOW, TxMeta::default(), b"frame").unwrap();
        let good = good.port.queue.remove(0).unwrap();
        let cuts = (0..good.len() - 5).map(|len| good[..len].to_vec());
        let other = [good[..12].to_vec(), vec![8, 6], good[14..].to_vec()].concat();
        let long = [good.clone(), vec![0; 2]].concat();
        let mut all: Vec<_> = cuts.chain([other, long]).collect();
        all.push(good.clone());
        let mut heard = radio(all);
        let mut buf = [0; 6];
        assert_eq!(heard.read(NOW, &mut buf).unwrap().unwrap().1, 5);
        let mut flooded = radio(vec![vec![0; 60]; READ_LIMIT + 1]);
        assert_eq!(flooded.read(NOW, &mut buf), Ok(None));
        assert_eq!(flooded.port.queue.len(), 1);
        flooded.reset(NOW).unwrap();
        assert!(flooded.port.queue.is_empty());
    }

    #[test]
    fn what_a_wire_cannot_do_is_refused() {
        let mut radio = radio([]);
        let most = radio.capabilities().max_frame;
        assert_eq!(most, 1488);
        let write =
            |radio: &mut EthernetRadio<_>, len| radio.write(NOW, TxMeta::default(), &vec![0; len]);
        assert_eq!(write(&mut radio, most), Ok(true));
        assert_eq!(write(&mut radio, most + 1), Err(RadioError::TooLong));
        radio.port.is_full = true;
        assert_eq!(write(&mut radio, most), Ok(false));
        let change = RadioChange::Frequency(slyfi_base::Mhz(2412));
        assert_eq!(radio.configure(NOW, change), Err(RadioError::CannotChange));
        let config = RadioConfig { frequency: Some(slyfi_base::Mhz(2412)), power: None };
        assert_eq!(radio.initialize(NOW, &config), Err(RadioError::CannotChange));
    }
}
