package digitalocean

import (
	"strconv"
	"strings"
	"time"

	"github.com/better-compute/cloud-resources/cloud"
	"github.com/better-compute/cloud-resources/provider/digitalocean/doapi"
)

// Types of our own, for what the provider tells by a status.
const (
	typeRunFailed     = "RunFailed"
	typeSessionFailed = "SessionFailed"
)

// severities by what a type begins with; the first match counts. What is not
// known is worth knowing, and no alarm.
var severities = []struct {
	prefix   string
	severity cloud.Severity
}{
	{"DisengagementEscalation", cloud.SeverityCritical}, // asks for a human
	{typeRunFailed, cloud.SeverityCritical},
	{typeSessionFailed, cloud.SeverityCritical},
	{"DisengagementQuit", cloud.SeverityWarning},
	{"ExecutionFailure", cloud.SeverityWarning},
	{"ExecutionLoops", cloud.SeverityWarning},
	{"EnvironmentExhaustion", cloud.SeverityWarning},
	{"Stagnation", cloud.SeverityWarning},
	{"Misalignment", cloud.SeverityWarning},
}

func severityOf(signalType string) cloud.Severity {
	for _, s := range severities {
		if strings.HasPrefix(signalType, s.prefix) {
			return s.severity
		}
	}
	return cloud.SeverityInfo
}

// signalID is run:step:type (D24), the same for the same hit at every asking.
func signalID(run, step, signalType string) string {
	return run + ":" + step + ":" + signalType
}

// newSignal cuts the detail to one line: it may hold the words of whoever
// talked to the agent.
func newSignal(environment, id, signalType, title, detail string, at time.Time) cloud.Signal {
	return cloud.Signal{
		ID: id, Severity: severityOf(signalType), Title: doapi.Line(title), Detail: doapi.Line(detail),
		At: at.UnixMilli(), Kind: environmentKind, ProviderID: environment,
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
