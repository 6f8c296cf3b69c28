package transport

import (
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/shard"
)

// Code is why a host refuses a peer.
type Code byte

// The codes. Those from CodeUnknownHost to CodeOtherCertificate stay true until an operator changes something.
const (
	codeNone Code = iota
	// CodeUnknownHost: no host has that id.
	CodeUnknownHost
	// CodeOtherIncarnation: the host of that id has another directory.
	CodeOtherIncarnation
	// CodeOlderCopy: a later start of the same directory was seen, or a second start of the same number; or the
	// directory lacks confirmed entries; or the host runs elsewhere.
	CodeOlderCopy
	// CodeExpelled: the host was expelled.
	CodeExpelled
	// CodeOtherGeneration: the cluster was made anew since.
	CodeOtherGeneration
	// CodeOtherDeployment: the host is of another cluster.
	CodeOtherDeployment
	// CodeOtherCertificate: the certificate of the host does not have the host's name.
	CodeOtherCertificate
	// CodeNotNow: a later try may succeed. The host is not ready yet, is busy, or is not the host at that address.
	CodeNotNow
	codes
)

// String returns the code in a few words.
func (c Code) String() string {
	if c >= codes {
		return fmt.Sprintf("code %d", byte(c))
	}
	return [codes]string{"none", "unknown host", "other incarnation", "older copy", "expelled", "other generation",
		"other deployment", "other certificate", "not now"}[c]
}

// Lasting reports whether every try fails until an operator changes something.
func (c Code) Lasting() bool { return c >= CodeUnknownHost && c <= CodeOtherCertificate }

// maxRefusalText bounds the text of a refusal.
const maxRefusalText = 1 << 10

// Refused is the error of a connection after a refusal by either end. Admit returns a *Refused to choose the code.
type Refused struct {
	Code Code
	// Text says what is wrong and what to do, to the operators of the refused host.
	Text string
	// By is the host that refused this host, zero if this host refused the peer.
	By shard.HostID
	// early: the host has begun to start, and will accept the peer in a moment.
	early bool
}

// Error implements error.
func (r *Refused) Error() string {
	if r.By != 0 {
		return fmt.Sprintf("host %d refuses this one: %s", r.By, r.Text)
	}
	return r.Text
}

// notReady refuses a host for now.
func notReady(text string) *Refused { return &Refused{Code: CodeNotNow, Text: text, early: true} }

func refusef(code Code, format string, args ...any) *Refused {
	return &Refused{Code: code, Text: fmt.Sprintf(format, args...)}
}

// asRefused returns an error of Admit as a refusal, nil for no error.
func asRefused(err error) *Refused {
	if err == nil {
		return nil
	}
	r, ok := errors.AsType[*Refused](err)
	if !ok || r.Code == codeNone {
		r = &Refused{Code: CodeNotNow, Text: err.Error()}
	}
	return &Refused{Code: r.Code, Text: strings.ToValidUTF8(r.Text[:min(len(r.Text), maxRefusalText)], "")}
}
