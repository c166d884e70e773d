"""Header values that a client should not send, and some valid ones."""

HEADERS = {
    "traceparent": ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-" + "0" * 32 + "-" + "0" * 16 + "-00",
                    "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-x", "-" * 55, ""],
    "If-Match": ['"1795248617611-0"', "*", "0", 'W/"a"', '"a", "b"', '"', '"8k2p.1795248617611-0.0123456789abcdef"', ""],
    "If-None-Match": ["*", '"a"', 'W/"a","b"', "a", ",", '"8k2p.1-0.0"'],
    "Last-Event-ID": ["8k2p.1795248617611-0", "8k2p", ".", "8k2p.99999999999999999999-0", "a.b", "0.0-0"],
    "Idempotency-Key": ["r-17", "r-18", "", " ", "x" * 128, "x" * 129, "ä", "a b", '"k"'],
    "Accept-Language": ["de", "de-CH, en;q=0.5", "*", "q=1;;;", "de;q=nan", "x" * 300, ","],
    "Content-Type": ["application/json", "application/cloudevents+json", "application/cloudevents-batch+json", "text/plain",
                     "application/json; charset=utf-16", "multipart/form-data", "/", "application/x-www-form-urlencoded"],
    "Accept": ["text/event-stream", "application/xml", "*/*;q=0", ""],
    "Accept-Encoding": ["gzip", "gzip;q=0", "br, gzip, *", "gzip;q=2", ""],
    "Expect": ["100-continue"], "Range": ["bytes=0-0", "bytes=5-1", "x"], "Origin": ["null", "https://evil.example"],
    "X-Forwarded-For": ["203.0.113.9:51234", "unknown", "1.2.3.4, ::1", ","], "ce-specversion": ["1.0", "9"],
    "ce-id": ["e-1", ""], "ce-type": ["io.enroute.job.status", "x"], "ce-source": ["/orders"], "ce-time": ["now", "2026-11-21T18:00:00Z"],
    "x-amz-sns-message-type": ["Notification", "SubscriptionConfirmation", "x"], "Cookie": ["a=b"], "User-Agent": ["", "x" * 500],
    "Transfer-Encoding": ["chunked"], "X-Http-Method-Override": ["DELETE"], "Upgrade": ["h2c", "websocket"],
}
