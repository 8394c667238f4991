use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// The pieces that a body goes in: one is handed over when there is room for it, so what a peer does
/// not fetch costs no more than this.
const PIECE: usize = 16_384;

/// A body that is there already.
pub struct Whole<H> {
    bytes: Bytes,
    /// Dropped when the last piece has been handed over, or the peer went away.
    held: Option<H>,
}

impl<H> Whole<H> {
    /// Sends `bytes`, and holds `held` meanwhile.
    pub fn new(bytes: Bytes, held: H) -> Self {
        Whole { bytes, held: Some(held) }
    }
}

impl<H: Unpin> Body for Whole<H> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.bytes.is_empty() {
            self.held = None;
            return Poll::Ready(None);
        }
        let length = self.bytes.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.bytes.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}

/// Why there is no body.
#[derive(Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is longer than it may be.
    TooLong,
    /// It did not come whole.
    Broken,
}

/// Reads a body of `most` bytes at most. Memory is taken as bytes come, not as they are announced.
pub async fn read<B: Body<Data = Bytes> + Unpin>(
    body: &mut B,
    most: usize,
) -> Result<Vec<u8>, Unread> {
    if body.size_hint().lower() > most as u64 {
        return Err(Unread::TooLong);
    }
    let mut out = Vec::new();
    loop {
        let frame = match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            None => return Ok(out),
            Some(frame) => frame.map_err(|_| Unread::Broken)?,
        };
        // What is no data are trailers, of which there are none here.
        let Ok(data) = frame.into_data() else { continue };
        if data.len() > most - out.len() {
            return Err(Unread::TooLong);
        }
        out.extend_from_slice(&data);
    }
}

/// Throws away what is left of a body, at most some `most` bytes of it; returns whether that was all.
pub async fn discard<B: Body<Data = Bytes> + Unpin>(body: &mut B, most: usize) -> bool {
    let mut thrown = 0;
    while thrown <= most {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            None => return true,
            Some(Err(_)) => return false,
            Some(Ok(frame)) => thrown += frame.data_ref().map_or(0, Bytes::len),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::Waker;

    fn now<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => done,
            Poll::Pending => panic!("it waits"),
        }
    }

    /// Says nothing about its length beforehand.
    struct Unannounced(Whole<()>);

    impl Body for Unannounced {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Pin::new(&mut self.0).poll_frame(cx)
        }
    }

    #[test]
    fn a_body_is_read_whole_and_never_beyond_what_it_may_be() {
        let sent: Vec<u8> = (0..40_000u32).map(|i| i as u8).collect();
        let body = || Whole::new(Bytes::from(sent.clone()), ());
        assert_eq!(now(read(&mut body(), 40_000)).unwrap(), sent);
        assert_eq!(now(read(&mut body(), 39_999)), Err(Unread::TooLong));
        assert_eq!(now(read(&mut Unannounced(body()), 40_000)).unwrap(), sent);
        assert_eq!(now(read(&mut Unannounced(body()), 39_999)), Err(Unread::TooLong));
        assert!(now(read(&mut Whole::new(Bytes::new(), ()), 0)).unwrap().is_empty());
    }

    #[test]
    fn what_is_left_of_a_body_is_thrown_away_up_to_a_bound() {
        let mut body = Whole::new(Bytes::from(vec![1; 3 * PIECE]), ());
        assert!(!now(discard(&mut body, PIECE)));
        assert_eq!(body.bytes.len(), PIECE, "a piece beyond the bound at most");
        assert!(now(discard(&mut body, PIECE)));
    }
}
