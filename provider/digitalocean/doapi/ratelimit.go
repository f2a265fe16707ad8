package doapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/better-compute/cloud-resources/provider/transport"
)

// Bounds of a pause: a header that is absent or absurd must neither make us
// come back at once nor never.
const (
	minPause = time.Second
	maxPause = time.Hour
)

// quota reads the allowance from an answer's headers.
func quota(h http.Header, now time.Time) transport.Quota {
	var q transport.Quota
	q.Limit, _ = strconv.Atoi(h.Get("ratelimit-limit"))
	q.Remaining, _ = strconv.Atoi(h.Get("ratelimit-remaining"))
	if at, err := strconv.ParseInt(h.Get("ratelimit-reset"), 10, 64); err == nil && at > 0 {
		q.Reset = time.Unix(at, 0)
	}
	if s, err := strconv.Atoi(h.Get("retry-after")); err == nil && s > 0 {
		q.Pause = min(time.Duration(s)*time.Second, maxPause)
	}
	return q
}

// retryAfter is how long to wait after a 429: retry-after, which comes with the
// burst limit only, else until the oldest request of the hour expires.
func retryAfter(h http.Header, now time.Time) time.Duration {
	q := quota(h, now)
	switch {
	case q.Pause > 0:
		return q.Pause
	case q.Reset.After(now):
		return min(max(q.Reset.Sub(now), minPause), maxPause)
	}
	return time.Minute
}
