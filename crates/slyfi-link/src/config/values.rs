//! The kinds of value a configuration has, each with one way to write it.

use serde::de::{Deserialize, Deserializer, Error as _, Unexpected, Visitor};
use slyfi_base::{Duration, Rate};
use slyfi_core::sizes::SizePolicy;
use slyfi_core::suite::Suite;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Deserializes anything that parses from a string, with its own message where it does not.
struct Text<T>(std::marker::PhantomData<T>);

impl<T: FromStr<Err = String>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<T, E> {
        s.parse().map_err(E::custom)
    }
}

/// Deserializes a value from its text form.
pub(super) fn text<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    d: D,
) -> Result<T, D::Error> {
    d.deserialize_str(Text(std::marker::PhantomData))
}

/// A span of time as a configuration writes it: `"90s"`, `"500ms"`, `"5m"`, `"2h"`, `"1d"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let digits = s.len() - s.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = s.split_at(digits);
        let wrong = || format!("`{s}` is not a span of time, write one like 500ms, 90s, 5m or 2h");
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let us = match unit.trim() {
            "us" => 1,
            "ms" => 1_000,
            "s" | "" => 1_000_000,
            "m" | "min" => 60_000_000,
            "h" => 3_600_000_000,
            "d" => 86_400_000_000,
            _ => return Err(wrong()),
        };
        number.checked_mul(us).map(|us| Span(Duration::from_micros(us))).ok_or_else(wrong)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = self.0.as_micros();
        for (unit, size) in [
            ("d", 86_400_000_000),
            ("h", 3_600_000_000),
            ("m", 60_000_000),
            ("s", 1_000_000),
            ("ms", 1_000),
        ] {
            if us >= size && us.is_multiple_of(size) {
                return write!(f, "{}{unit}", us / size);
            }
        }
        if us == 0 { f.write_str("0s") } else { write!(f, "{us}us") }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        text(d)
    }
}

/// A span of time, or `"off"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Optional(pub Option<Duration>);

impl FromStr for Optional {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        if s == "off" {
            return Ok(Optional(None));
        }
        let span: Span = s.parse().map_err(|e| format!("{e}, or off"))?;
        Ok(Optional(Some(span.0)))
    }
}

impl<'de> Deserialize<'de> for Optional {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        text(d)
    }
}

/// A host address with the length of its network's prefix: `10.83.0.1/24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAddress {
    /// The address.
    pub ip: IpAddr,
    /// Bits of the network's prefix.
    pub prefix: u8,
}

impl FromStr for HostAddress {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{s}` is not an address with a prefix length, write one like 10.83.0.1/24");
        let (ip, prefix) = s.split_once('/').ok_or_else(wrong)?;
        let ip: IpAddr = ip.parse().map_err(|_| wrong())?;
        let prefix: u8 = prefix.parse().map_err(|_| wrong())?;
        let most = if ip.is_ipv4() { 32 } else { 128 };
        if prefix > most { Err(wrong()) } else { Ok(HostAddress { ip, prefix }) }
    }
}

impl<'de> Deserialize<'de> for HostAddress {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        text(d)
    }
}

/// A number, or `"auto"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Auto<T> {
    /// The daemon finds it out.
    #[default]
    Auto,
    /// This one.
    Given(T),
}

impl<T: FromStr> FromStr for Auto<T> {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        if s == "auto" {
            return Ok(Auto::Auto);
        }
        let wrong = |_| format!("`{s}` is neither auto nor a number that fits");
        s.parse().map(Auto::Given).map_err(wrong)
    }
}

impl<'de, T: FromStr + TryFrom<i64>> Deserialize<'de> for Auto<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct AutoVisitor<T>(std::marker::PhantomData<T>);
        impl<T: FromStr + TryFrom<i64>> Visitor<'_> for AutoVisitor<T> {
            type Value = Auto<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"auto\" or a number that fits")
            }

            fn visit_str<E: serde::de::Error>(self, s: &str) -> Result<Auto<T>, E> {
                s.parse().map_err(E::custom)
            }

            fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Auto<T>, E> {
                let number = T::try_from(n);
                number.map(Auto::Given).map_err(|_| E::invalid_value(Unexpected::Signed(n), &self))
            }
        }
        d.deserialize_any(AutoVisitor(std::marker::PhantomData))
    }
}

/// A bit rate of 802.11a in Mb/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitRate(pub Rate);

impl BitRate {
    /// The rates of 802.11a (IEEE 802.11-2020 §17.2.2).
    const ALL: [u8; 8] = [6, 9, 12, 18, 24, 36, 48, 54];

    fn from_mbps(mbps: i64) -> Option<Self> {
        let mbps = u8::try_from(mbps).ok()?;
        Self::ALL.contains(&mbps).then(|| BitRate(Rate(mbps * 2)))
    }
}

impl FromStr for BitRate {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let wrong = || format!("`{s}` is not a rate, expected 6, 9, 12, 18, 24, 36, 48 or 54 Mb/s");
        s.parse().ok().and_then(BitRate::from_mbps).ok_or_else(wrong)
    }
}

impl<'de> Deserialize<'de> for BitRate {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let mbps = i64::deserialize(d)?;
        BitRate::from_mbps(mbps)
            .ok_or_else(|| D::Error::custom("expected 6, 9, 12, 18, 24, 36, 48 or 54 (Mb/s)"))
    }
}

/// Parses a suite's name.
pub fn suite(s: &str) -> Result<Suite, String> {
    Suite::from_name(s).ok_or_else(|| {
        let names: Vec<_> = Suite::ALL.iter().map(|s| s.name()).collect();
        format!("unknown suite `{s}`, expected one of {}", names.join(", "))
    })
}

/// The names of the size policies.
pub const SIZE_POLICIES: [(&str, SizePolicy); 3] = [
    ("none", SizePolicy::None),
    ("buckets", SizePolicy::Buckets),
    ("constant", SizePolicy::Constant),
];

/// Parses a size policy's name.
pub fn size_policy(s: &str) -> Result<SizePolicy, String> {
    SIZE_POLICIES
        .into_iter()
        .find(|(name, _)| *name == s)
        .map(|(_, policy)| policy)
        .ok_or_else(|| format!("unknown size policy `{s}`, expected none, buckets or constant"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_they_are_written() {
        for (text, us) in
            [("500ms", 500_000), ("90s", 90_000_000), ("5m", 300_000_000), ("2h", 7_200_000_000)]
        {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.0.as_micros(), us);
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        assert_eq!("10".parse(), Ok(Span(Duration::from_secs(10))));
        for text in ["", "s", "5 weeks", "-1s", "99999999999999999d", "1.5s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn off_is_an_answer_where_a_span_may_be_missing() {
        assert_eq!("off".parse(), Ok(Optional(None)));
        assert_eq!("1s".parse(), Ok(Optional(Some(Duration::from_secs(1)))));
        assert!("never".parse::<Optional>().is_err());
    }

    #[test]
    fn host_addresses_need_a_fitting_prefix() {
        let a: HostAddress = "fd53::1/64".parse().unwrap();
        assert_eq!((a.ip, a.prefix), ("fd53::1".parse().unwrap(), 64));
        for text in ["10.0.0.1", "10.0.0.1/33", "fd53::1/129", "host/24", "10.0.0.1/"] {
            assert!(text.parse::<HostAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_rates_of_80211a_exist() {
        assert_eq!("54".parse(), Ok(BitRate(Rate::PEAK)));
        assert_eq!("6".parse(), Ok(BitRate(Rate::BASE)));
        for text in ["0", "11", "134", "262", "fast"] {
            assert!(text.parse::<BitRate>().is_err(), "{text}");
        }
    }
}
