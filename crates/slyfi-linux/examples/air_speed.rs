//! How fast the airs are on this machine: frames a second through one thread that sends and
//! receives, and the time of a frame there and back between two threads that poll.
//!
//! ```text
//! cargo run --release -p slyfi-linux --example air_speed
//! ```
//!
//! As root it measures the packet air too, over a veth pair in a network namespace of its own.

use slyfi_base::{Duration, Instant, Radio, RadioConfig, TxMeta};
use slyfi_linux::packet::ReceivePath;
use slyfi_linux::{AirSocket, Clock, Interest, Poll, Token, UdpAir, UdpConfig, UdpRadio};
use slyfi_linux::{PacketConfig, PacketRadio};
use slyfi_wire::carrier::HEADER;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Command;

/// Bytes of each frame.
const FRAME: usize = 1450;
/// Frames sent before they are received.
const BURST: usize = 64;
/// Time for each measurement.
const SPAN: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn Error>> {
    println!("frames of {FRAME} bytes\n");
    println!("{:<24} {:>12} {:>10} {:>14}", "air", "frames/s", "Mb/s", "round trip µs");

    let [a, b] = unicast_addresses()?;
    let unicast = |bind, peer| udp(UdpAir::Unicast { bind, peers: vec![peer] });
    measure("udp unicast", unicast(a, b)?, unicast(b, a)?)?;

    let group = SocketAddr::from((Ipv4Addr::new(239, 255, 83, 76), a.port()));
    let air = UdpAir::Multicast { group, interface: Some("lo".to_owned()), hops: 0 };
    measure("udp multicast", udp(air.clone())?, udp(air)?)?;

    // SAFETY: no pointers are passed; the process has one thread, and wants this for itself.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        println!("packet                   (needs root)");
        return Ok(());
    }
    for arguments in
        ["link add name a type veth peer name b", "link set dev a up", "link set dev b up"]
    {
        let status = Command::new("ip").args(arguments.split(' ')).status()?;
        if !status.success() {
            return Err(format!("ip {arguments} failed").into());
        }
    }
    let receive = ReceivePath::Ring;
    measure("packet, ring", packet("a", receive)?, packet("b", receive)?)?;
    let receive = ReceivePath::Messages;
    measure("packet, messages", packet("a", receive)?, packet("b", receive)?)?;
    Ok(())
}

fn unicast_addresses() -> std::io::Result<[SocketAddr; 2]> {
    let sockets = [UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?];
    Ok([sockets[0].local_addr()?, sockets[1].local_addr()?])
}

fn udp(air: UdpAir) -> Result<UdpRadio, Box<dyn Error>> {
    let mut radio = UdpRadio::open(&UdpConfig { air, max_frame: None })?;
    radio.initialize(Instant::ZERO, &RadioConfig::default())?;
    Ok(radio)
}

fn packet(interface: &str, receive: ReceivePath) -> Result<PacketRadio, Box<dyn Error>> {
    let mut radio = PacketRadio::open(&PacketConfig { receive, ..PacketConfig::on(interface) })?;
    radio.initialize(Instant::ZERO, &RadioConfig::default())?;
    Ok(radio)
}

fn measure(
    name: &str,
    mut a: impl AirSocket + 'static,
    mut b: impl AirSocket,
) -> Result<(), Box<dyn Error>> {
    let rate = throughput(&mut a, &mut b)?;
    // The sender of a multicast has heard itself all the time, and its receive buffer is full.
    a.reset(Instant::ZERO)?;
    b.reset(Instant::ZERO)?;
    let trip = round_trip(a, b)?;
    let megabits = rate * FRAME as f64 * 8.0 / 1e6;
    println!("{name:<24} {rate:>12.0} {megabits:>10.0} {trip:>14.1}");
    Ok(())
}

fn frame() -> Vec<u8> {
    let mut frame = HEADER.to_vec();
    frame.resize(FRAME, 0x5a);
    frame
}

/// Frames a second that one thread sends and receives.
fn throughput(a: &mut impl AirSocket, b: &mut impl AirSocket) -> Result<f64, Box<dyn Error>> {
    let (clock, frame, mut buf) = (Clock::new(), frame(), vec![0; 3000]);
    let start = clock.now().mono;
    let (mut frames, mut elapsed) = (0, Duration::ZERO);
    while elapsed < SPAN {
        let now = clock.now().mono;
        for _ in 0..BURST {
            if !a.write(now, TxMeta::default(), &frame)? {
                return Err("an empty queue had no room".into());
            }
        }
        a.flush()?;
        let mut missing = BURST;
        while missing > 0 {
            // A veth pair delivers from a softirq, which may come a moment later.
            match b.read(now, &mut buf)? {
                Some(_) => missing -= 1,
                None => std::thread::yield_now(),
            }
            if clock.now().mono.saturating_since(now) > Duration::from_secs(1) {
                return Err(format!("{missing} frames of a burst were lost").into());
            }
        }
        frames += BURST;
        elapsed = clock.now().mono.saturating_since(start);
    }
    Ok(frames as f64 * 1e6 / elapsed.as_micros() as f64)
}

/// Median microseconds from sending a frame to having its answer, each side waiting in `Poll`.
fn round_trip(a: impl AirSocket + 'static, mut b: impl AirSocket) -> Result<f64, Box<dyn Error>> {
    const LAST: usize = HEADER.len();
    let echo = std::thread::spawn(move || {
        let (mut a, mut buf) = (a, vec![0; 3000]);
        loop {
            let len = wait(&mut a, &mut buf).expect("a frame");
            transmit(&mut a, &buf[..len]).expect("an answer");
            if len == LAST {
                return;
            }
        }
    });
    let (clock, frame, mut buf) = (Clock::new(), frame(), vec![0; 3000]);
    let mut trips = Vec::new();
    let start = clock.now().mono;
    loop {
        let sent = clock.now().mono;
        transmit(&mut b, &frame)?;
        wait(&mut b, &mut buf)?;
        let now = clock.now().mono;
        trips.push(now.saturating_since(sent).as_micros());
        if now.saturating_since(start) > SPAN {
            break;
        }
    }
    transmit(&mut b, &HEADER)?;
    echo.join().map_err(|_| "the answering thread failed")?;
    trips.sort_unstable();
    Ok(trips[trips.len() / 2] as f64)
}

fn transmit(radio: &mut impl AirSocket, frame: &[u8]) -> Result<(), Box<dyn Error>> {
    radio.write(Instant::ZERO, TxMeta::default(), frame)?;
    radio.flush()?;
    Ok(())
}

fn wait(radio: &mut impl AirSocket, buf: &mut [u8]) -> Result<usize, Box<dyn Error>> {
    let (clock, mut poll) = (Clock::new(), Poll::new()?);
    poll.add(radio.receiver(), Token(0), Interest::Read)?;
    let deadline = clock.now().mono + Duration::from_secs(1);
    loop {
        let now = clock.now().mono;
        if let Some((_, len)) = radio.read(now, buf)? {
            return Ok(len);
        }
        if now >= deadline {
            return Err("a frame was lost".into());
        }
        poll.wait(now, Some(deadline))?;
    }
}
