package cli

import (
	"crypto/x509"
	"errors"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/gateway/operation"
)

// Explain returns the message for an error that ended a command, empty for none.
//
// Part of an error may be a host's text, which must not control the terminal.
func Explain(err error) string { return Escape(explain(err)) }

func explain(err error) string {
	if err == nil || errors.Is(err, ErrSilent) {
		return ""
	}
	text := operation.Plain(err)
	if strings.Contains(text, "; ") {
		return text // the text already says what to do
	}
	for _, m := range lists {
		if strings.Contains(text, m.missing) {
			return text + "; " + m.hint
		}
	}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return text + "; " + h.hint
		}
	}
	return text
}

// lists maps missing things to the command that lists them.
var lists = []struct{ missing, hint string }{
	{"there is no host ", "signalbox host list shows all hosts"},
	{"there is no shard ", "signalbox shard list shows all shards"},
	{"no rollout of this name", "signalbox rollout list shows all rollouts"},
	{"no process of this name", "signalbox process list shows all processes"},
	{"there is no role ", "signalbox access role list shows all created roles"},
}

// hints contains advice for errors without their own.
var hints = []struct {
	err  error
	hint string
}{
	{client.ErrNodeNotFound, "signalbox node create creates a node, and signalbox node list shows all nodes"},
	{client.ErrSemaphoreNotFound,
		"signalbox semaphore create creates a semaphore, and signalbox semaphore list shows all semaphores"},
	{client.ErrAlreadyExists, "nothing was changed"},
	{client.ErrUnauthorized,
		"signalbox access list shows token permissions; signalbox context show shows the token in use"},
	{client.ErrQuotaExceeded, "delete objects, or ask an operator to raise the quota"},
	{client.ErrStorageFull, "the disk or memory of a host is nearly full: changes are rejected until space is free"},
	{client.ErrUnavailable, "signalbox check shows the cause; the change may have taken effect"},
	{client.ErrUnsupported,
		"signalbox status shows the host versions; the feature is available once all hosts are upgraded"},
	{client.ErrOverloaded, "a limit of the host was reached, and nothing was changed; try again later"},
}

// certificateHint returns advice if a side does not accept the peer's certificate, otherwise an empty text. A refusal
// by the peer is recognisable by its text only.
func certificateHint(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "give the CA that signed the host certificates with --tls-ca"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "use a name from the host's certificate in --endpoints, or give the expected name with --tls-server-name"
	}
	text := err.Error()
	for _, refusal := range []string{"certificate required", "bad certificate", "unknown certificate authority"} {
		if strings.Contains(text, "remote error: tls: "+refusal) {
			return "the host requires a client certificate signed by its --tls-client-ca; give one with " +
				"--tls-cert and --tls-key"
		}
	}
	return ""
}
