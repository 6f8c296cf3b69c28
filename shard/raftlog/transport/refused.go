package transport

import (
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/shard"
)

// Code is why a host refuses a peer.
type Code byte

// Refusal codes. Codes from CodeUnknownHost to CodeOtherCertificate stay true until an operator changes something.
const (
	codeNone Code = iota
	// CodeUnknownHost: the id belongs to no host.
	CodeUnknownHost
	// CodeOtherIncarnation: the host with the id has a different data directory.
	CodeOtherIncarnation
	// CodeOlderCopy: the data directory is an outdated copy. A later start with the same directory was seen, or a
	// second start under the same number; or the directory lacks confirmed entries; or the host runs elsewhere.
	CodeOlderCopy
	// CodeExpelled: the host was expelled.
	CodeExpelled
	// CodeOtherGeneration: the cluster was restored since.
	CodeOtherGeneration
	// CodeOtherDeployment: the host belongs to a different cluster.
	CodeOtherDeployment
	// CodeOtherCertificate: the host's certificate does not contain its name.
	CodeOtherCertificate
	// CodeNotNow: a later attempt may succeed. The host is not ready yet, is busy, or is not the host at that address.
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

// Lasting reports whether every attempt fails until an operator changes something.
func (c Code) Lasting() bool { return c >= CodeUnknownHost && c <= CodeOtherCertificate }

// maxRefusalText bounds a refusal text, in bytes.
const maxRefusalText = 1 << 10

// Refused is the error on a connection that either end refused. Admit returns a *Refused to choose the code.
type Refused struct {
	Code Code
	// Text explains to the refused host's operators what is wrong and what to do.
	Text string
	// By is the host that refused this host, zero if this host refused the peer.
	By shard.HostID
	// early is set if the host is starting, and will accept the peer soon.
	early bool
}

// Error implements error.
func (r *Refused) Error() string {
	if r.By != 0 {
		return fmt.Sprintf("host %d refuses this one: %s", r.By, r.Text)
	}
	return r.Text
}

// notReady refuses a host temporarily.
func notReady(text string) *Refused { return &Refused{Code: CodeNotNow, Text: text, early: true} }

func refusef(code Code, format string, args ...any) *Refused {
	return &Refused{Code: code, Text: fmt.Sprintf(format, args...)}
}

// asRefused converts an error from Admit to a refusal, nil for no error.
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
