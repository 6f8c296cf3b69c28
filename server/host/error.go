package host

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/signalbox/signalbox/shard/raftlog"
)

// Kind is what an error of Start is about. It says whether another start can succeed without a change.
type Kind int

// The kinds of errors. Where several things are wrong, the smallest kind counts: what another start cannot mend.
const (
	// KindSettings: the settings, or the files that they name, are wrong.
	KindSettings Kind = iota + 1
	// KindData: the data directory cannot be used: it is in use, damaged, or of another host.
	KindData
	// KindAddress: an address cannot be listened on. It may be free later.
	KindAddress
	// KindRoom: the disk has no room for what a host writes. There may be some later.
	KindRoom
	// KindOther is anything else.
	KindOther
)

// Error is why a host did not start.
type Error struct {
	Kind Kind
	Err  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Kind != KindSettings && raftlog.NoRoom(e.Err) {
		return fmt.Sprintf("%v; the host goes on as before once it is started again with room on its disk", e.Err)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error of Start, or of one with which a host has halted, KindOther where it has none.
// Whatever could not be written for want of room can be written later.
func KindOf(err error) Kind {
	e, ok := errors.AsType[*Error](err)
	switch {
	case ok && e.Kind == KindSettings:
		return e.Kind
	case raftlog.NoRoom(err):
		return KindRoom
	case ok:
		return e.Kind
	}
	return KindOther
}

// problems gathers what is wrong, so that all of it is reported together.
type problems struct {
	kind Kind
	all  []error
}

// add records the errors that are not nil.
func (p *problems) add(kind Kind, errs ...error) {
	for _, err := range errs {
		if err == nil {
			continue
		}
		if len(p.all) == 0 || kind < p.kind {
			p.kind = kind
		}
		p.all = append(p.all, err)
	}
}

// err returns nil where nothing is wrong.
func (p *problems) err() error {
	switch len(p.all) {
	case 0:
		return nil
	case 1:
		return &Error{p.kind, p.all[0]}
	}
	return &Error{p.kind, several(p.all)}
}

// several is an error for each of the problems, on a line of its own.
type several []error

func (s several) Error() string {
	var b strings.Builder
	b.WriteString("the host cannot start:")
	for _, err := range s {
		b.WriteString("\n  - ")
		b.WriteString(err.Error())
	}
	return b.String()
}

func (s several) Unwrap() []error { return s }

// aboutSetting names the setting that an error is about.
func aboutSetting(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--%s: %w", name, err)
}

// logKind is the kind of an error of opening the log.
func logKind(err error) Kind {
	for _, refused := range []error{
		raftlog.ErrDirectoryInUse, raftlog.ErrOtherHost, raftlog.ErrOtherDeployment, raftlog.ErrFoundersChanged,
		raftlog.ErrOtherIncarnation, raftlog.ErrHostnameChanged, raftlog.ErrWorkersChanged, raftlog.ErrFormat,
		raftlog.ErrDamaged,
	} {
		if errors.Is(err, refused) {
			return KindData
		}
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EADDRNOTAVAIL):
		return KindAddress
	case errors.Is(err, raftlog.ErrConfig):
		return KindSettings
	}
	return KindOther
}
