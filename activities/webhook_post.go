package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	ce "github.com/cloudevents/sdk-go/v2/event"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// postTimeout bounds one request to a subscriber, answer included.
const postTimeout = 10 * time.Second

// NewWebhookClient posts to subscribers. It follows no redirect, since a
// signed event goes where the platform file says and nowhere else, and it does
// not connect to link-local addresses, where clouds keep the metadata of
// machines. Other private addresses are the platform owner's to declare: a
// subscriber's address comes from the platform file, never from a tenant.
func NewWebhookClient() *http.Client {
	dialer := &net.Dialer{Timeout: postTimeout / 2, Control: refuseLinkLocal}
	return &http.Client{
		Timeout: postTimeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: postTimeout / 2,
			MaxIdleConnsPerHost: deliverFlight, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// refuseLinkLocal sees the address after names are resolved.
func refuseLinkLocal(_, address string, _ syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err == nil && at.Addr().Unmap().IsLinkLocalUnicast() {
		return errLinkLocal
	}
	return nil
}

var errLinkLocal = errors.New("link-local addresses are not posted to")

// postAnswer is what became of one request.
type postAnswer struct {
	ok         bool
	gone       bool
	reason     string
	retryAfter time.Duration
}

func (a *WebhookActivities) post(ctx context.Context, sub *Subscriber, d Delivery, source string, now time.Time) postAnswer {
	body, err := cloudEvent(source, d)
	if err != nil {
		return postAnswer{reason: "the event cannot be written as a CloudEvent"}
	}
	signature, err := sign(sub, d.EventID, now, body)
	if err != nil {
		return postAnswer{reason: "the subscriber's secret cannot sign; declare it anew"}
	}
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, sub.URL, bytes.NewReader(body))
	if err != nil {
		return postAnswer{reason: "the subscriber's address is not usable"}
	}
	req.Header.Set("Content-Type", ce.ApplicationCloudEventsJSON)
	req.Header.Set("User-Agent", "better-compute-webhooks/1")
	req.Header.Set(standardwebhooks.HeaderWebhookID, d.EventID)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	client := a.Client
	if client == nil {
		client = defaultWebhookClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return postAnswer{reason: connectReason(err)}
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	return judge(resp)
}

var defaultWebhookClient = NewWebhookClient()

// judge reads the answer's status; its body is nobody's business here.
func judge(resp *http.Response) postAnswer {
	answer := postAnswer{reason: fmt.Sprintf("the subscriber answered HTTP %d", resp.StatusCode)}
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return postAnswer{ok: true}
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		answer.reason += "; redirects are not followed"
	case resp.StatusCode == http.StatusGone:
		answer.gone = true
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		answer.retryAfter = time.Duration(min(s, int(lastBackoff/time.Second))) * time.Second
	}
	return answer
}

// connectReason says in stable words why no answer came: the error's own text
// holds addresses and ports that change from try to try.
func connectReason(err error) string {
	var timeout net.Error
	var dns *net.DNSError
	switch {
	case errors.Is(err, errLinkLocal):
		return errLinkLocal.Error()
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the subscriber did not answer in time"
	case errors.As(err, &dns):
		return "the subscriber's name is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the subscriber refused the connection"
	}
	return "the connection to the subscriber failed"
}

// cloudEvent is the event in CloudEvents 1.0 structured JSON.
func cloudEvent(source string, d Delivery) ([]byte, error) {
	e := ce.New(ce.CloudEventsVersionV1)
	e.SetID(d.EventID)
	e.SetSource(source)
	e.SetType(d.Type)
	e.SetSubject(d.Subject)
	e.SetTime(d.At.UTC())
	e.SetExtension("tenantid", d.TenantID)
	// A number as text of one width sorts as the number: the sequence extension's rule.
	e.SetExtension("sequence", fmt.Sprintf("%020d", d.Sequence))
	data := map[string]any{}
	if len(d.Data) > 0 {
		dec := json.NewDecoder(bytes.NewReader(d.Data))
		dec.UseNumber()
		if err := dec.Decode(&data); err != nil {
			return nil, err
		}
	}
	data["actor"] = d.Actor
	if err := e.SetData(ce.ApplicationJSON, data); err != nil {
		return nil, err
	}
	return json.Marshal(e)
}

// sign makes the Standard Webhooks signature. A secret with the usual prefix is
// base64, any other is taken as it is.
func sign(sub *Subscriber, id string, at time.Time, body []byte) (string, error) {
	secret := sub.Secret.Reveal()
	hook, err := standardwebhooks.NewWebhookRaw([]byte(secret))
	if strings.HasPrefix(secret, "whsec_") {
		hook, err = standardwebhooks.NewWebhook(secret)
	}
	if err != nil {
		return "", err
	}
	return hook.Sign(id, at, body)
}
