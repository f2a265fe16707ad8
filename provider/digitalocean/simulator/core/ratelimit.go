package core

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// limiter counts the requests of one account over the last hour. Each request
// frees its place one hour (and, for the burst limit, one minute) after it was
// made; there is no common reset.
type limiter struct {
	hour []time.Time
}

// admit counts a request at now, or refuses it without counting. The headers go
// with every answer of the account.
func (l *limiter) admit(now time.Time, s Settings) (headers map[string]string, problem *Problem) {
	for len(l.hour) > 0 && !l.hour[0].After(now.Add(-time.Hour)) {
		l.hour = l.hour[1:]
	}
	burst := len(l.hour) - lastMinute(l.hour, now)
	remaining := s.PerHour - len(l.hour)
	if remaining > 0 && burst < s.PerMinute {
		l.hour = append(l.hour, now)
		return l.headers(now, s, remaining-1), nil
	}
	headers = l.headers(now, s, 0)
	if remaining > 0 {
		// The burst limit: the oldest request of this minute makes room.
		free := l.hour[len(l.hour)-s.PerMinute].Add(time.Minute)
		headers["retry-after"] = strconv.Itoa(max(1, int(math.Ceil(free.Sub(now).Seconds()))))
	}
	return headers, &Problem{Status: http.StatusTooManyRequests, ID: slug(http.StatusTooManyRequests),
		Message: "API Rate limit exceeded."}
}

// lastMinute is the index of the first request within the last minute.
func lastMinute(hour []time.Time, now time.Time) int {
	from := now.Add(-time.Minute)
	i := len(hour)
	for i > 0 && hour[i-1].After(from) {
		i--
	}
	return i
}

func (l *limiter) headers(now time.Time, s Settings, remaining int) map[string]string {
	oldest := now
	if len(l.hour) > 0 {
		oldest = l.hour[0]
	}
	return map[string]string{
		"ratelimit-limit":     strconv.Itoa(s.PerHour),
		"ratelimit-remaining": strconv.Itoa(max(0, remaining)),
		"ratelimit-reset":     strconv.FormatInt(oldest.Add(time.Hour).Unix(), 10),
	}
}
