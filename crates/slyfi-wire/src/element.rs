//! Information elements of management frames (IEEE 802.11-2020 §9.4.2): `id 1 | length 1 | data`.

use crate::{Malformed, NoSpace, Reader, Writer};

/// SSID, 0 to 32 bytes (§9.4.2.2).
pub const SSID: u8 = 0;
/// Supported Rates, 1 to 8 bytes (§9.4.2.3).
pub const SUPPORTED_RATES: u8 = 1;
/// DSSS Parameter Set: the channel (§9.4.2.4).
pub const DSSS_PARAMETERS: u8 = 3;
/// TIM (§9.4.2.5).
pub const TIM: u8 = 5;
/// RSN (§9.4.2.24).
pub const RSN: u8 = 48;
/// Extended Supported Rates (§9.4.2.12).
pub const EXTENDED_SUPPORTED_RATES: u8 = 50;
/// Vendor Specific: begins with the organisation's three octets (§9.4.2.25).
pub const VENDOR: u8 = 221;

/// The longest SSID in bytes (§9.4.2.2).
pub const MAX_SSID: usize = 32;

/// The rates of 802.11a in units of 500 kb/s, the mandatory ones (6, 12, 24 Mb/s) marked basic by
/// bit 7 (§9.4.2.3, §17.4.1).
pub const RATES_A: [u8; 8] = [0x8c, 18, 0x98, 36, 0xb0, 72, 96, 108];

/// One element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// Which element.
    pub id: u8,
    /// Its contents, at most 255 bytes; an `emit` cuts what is longer.
    pub data: &'a [u8],
}

impl Element<'_> {
    /// Returns the element's length in bytes, with its two header octets.
    pub fn buffer_len(&self) -> usize {
        2 + self.data.len().min(255)
    }

    /// Writes the element and returns its length.
    ///
    /// # Errors
    /// [`NoSpace`] when `buf` is shorter than [`Element::buffer_len`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, NoSpace> {
        let mut w = Writer::new(buf, self.buffer_len())?;
        self.write(&mut w);
        Ok(w.finish())
    }

    /// Writes the element as part of a frame.
    pub fn write(&self, w: &mut Writer<'_>) {
        let len = u8::try_from(self.data.len()).unwrap_or(u8::MAX);
        w.u8(self.id);
        w.u8(len);
        w.put(self.data.get(..usize::from(len)).unwrap_or(self.data));
    }
}

/// Iterates over the elements of a body; a damaged one is the last item.
#[derive(Clone, Debug)]
pub struct Elements<'a>(Reader<'a>);

impl<'a> Elements<'a> {
    /// Starts at the front of `bytes`: past the fixed fields of the frame.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Elements(Reader::new(bytes))
    }

    /// Returns the first element with this identifier, if it comes before any damage.
    pub fn find(&self, id: u8) -> Option<&'a [u8]> {
        self.clone().map_while(Result::ok).find(|e| e.id == id).map(|e| e.data)
    }

    /// Returns the contents, past the organisation, of the first vendor element of `organisation`.
    pub fn find_vendor(&self, organisation: [u8; 3]) -> Option<&'a [u8]> {
        self.clone()
            .map_while(Result::ok)
            .filter(|e| e.id == VENDOR)
            .find_map(|e| e.data.strip_prefix(&organisation))
    }

    /// Returns the SSID, if there is one of a legal length.
    pub fn ssid(&self) -> Option<&'a [u8]> {
        self.find(SSID).filter(|s| s.len() <= MAX_SSID)
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let r = &mut self.0;
        let element = (|| {
            let (id, len) = (r.u8()?, r.u8()?);
            Ok(Element { id, data: r.take(usize::from(len))? })
        })();
        if element.is_err() {
            self.0.rest();
        }
        Some(element)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_in_order_and_damage_ends_the_list() {
        let bytes = [0, 2, b'h', b'i', 221, 4, 2, b'S', b'L', 9, 1, 3, 0x8c];
        let e = Elements::new(&bytes);
        assert_eq!(e.ssid(), Some(&b"hi"[..]));
        assert_eq!(e.find_vendor([2, b'S', b'L']), Some(&[9][..]));
        assert_eq!(e.find_vendor([2, b'S', b'M']), None);
        assert_eq!(e.find(SUPPORTED_RATES), None, "cut short");
        let items: [_; 3] = core::array::from_fn({
            let mut e = e.clone();
            move |_| e.next().unwrap()
        });
        assert_eq!(items[0], Ok(Element { id: 0, data: b"hi" }));
        assert_eq!(items[2], Err(Malformed::Truncated { needed: 15, actual: 13 }));
        assert_eq!(e.count(), 3);
    }

    #[test]
    fn an_ssid_longer_than_the_standard_allows_is_none() {
        let mut bytes = [b'a'; 2 + MAX_SSID + 1];
        (bytes[0], bytes[1]) = (SSID, MAX_SSID as u8 + 1);
        assert_eq!(Elements::new(&bytes).ssid(), None);
        bytes[1] = MAX_SSID as u8;
        assert_eq!(Elements::new(&bytes).ssid().map(<[u8]>::len), Some(MAX_SSID));
    }
}
