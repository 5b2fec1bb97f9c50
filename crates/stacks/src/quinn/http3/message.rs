//! Requests and responses: their header fields, and the size of those.

use http::{HeaderName, HeaderValue, Request, Response, header};

/// The request for the object at a place, with fields of `size` bytes, which a cookie fills up.
pub(super) fn request(place: usize, size: u64) -> Request<()> {
    let mut request =
        Request::get(format!("https://{AUTHORITY}/{place}")).body(()).expect("a URI of letters");
    let room = size.saturating_sub(size_of(&request) + header::COOKIE.as_str().len() as u64);
    let filling: Vec<u8> = FILLING.iter().copied().cycle().take(room as usize).collect();
    let cookie = HeaderValue::from_bytes(&filling).expect("letters and digits");
    request.headers_mut().insert(header::COOKIE, cookie);
    request
}

/// The place for which a request asks.
pub(super) fn place_of(request: &Request<()>) -> Option<usize> {
    request.uri().path().strip_prefix('/')?.parse().ok()
}

/// Bytes of a request's fields before QPACK compresses them: names and values (RFC 9114 §4.3.1).
pub(super) fn size_of(request: &Request<()>) -> u64 {
    let uri = request.uri();
    let path = uri.path_and_query().map_or("", |path| path.as_str());
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let of_request = [
        (":method", request.method().as_str()),
        (":scheme", uri.scheme_str().unwrap_or_default()),
        (":authority", authority),
        (":path", path),
    ];
    let of_request = of_request.map(|(name, value)| name.len() + value.len()).into_iter();
    let of_headers = request
        .headers()
        .iter()
        .map(|(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len());
    of_request.chain(of_headers).sum::<usize>() as u64
}

/// What precedes the bytes of an object.
pub(super) fn response() -> Response<()> {
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    Response::builder().header(header::CONTENT_TYPE, html).body(()).expect("a header of letters")
}

const AUTHORITY: &str = "server";
/// Letters and digits, as cookies have them: QPACK's Huffman code (RFC 7541, Appendix B) has 5 to 7 bits for each.
const FILLING: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_size_that_was_asked_for_and_says_its_place() {
        for (place, size) in [(1, 64), (77, 300), (4_000_000_000, 8190)] {
            let request = request(place, size);
            assert_eq!((size_of(&request), place_of(&request)), (size, Some(place)));
        }
    }
}
