package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/signalbox/signalbox/shard/raftlog"
)

// Kind classifies an error from Start. The kind shows whether a new start can succeed without a change.
type Kind int

// Error kinds. If there are several errors, the smallest kind is reported, because a restart alone cannot repair it.
const (
	// KindSettings: the settings, or files named by the settings, are wrong.
	KindSettings Kind = iota + 1
	// KindData: the data directory cannot be used, because it is in use, damaged, or belongs to a different host.
	KindData
	// KindAddress: the host cannot listen on an address. The address may be free later.
	KindAddress
	// KindRoom: the disk has too little space for a host's files. Space may be freed later.
	KindRoom
	// KindOther is any other error.
	KindOther
)

// Error explains why a host did not start.
type Error struct {
	Kind Kind
	Err  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Kind != KindSettings && raftlog.NoRoom(e.Err) {
		return fmt.Sprintf("%v; free disk space and start the host again", e.Err)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error from Start or from a halted host; KindOther if the error has no kind. An error
// caused by a full disk counts as KindRoom, because the write can succeed later.
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

// problems collects errors, to report all of them together.
type problems struct {
	kind Kind
	all  []any // errors
}

// add records all errors except nil.
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

// err returns the collected problems as an error, nil if there are none.
func (p *problems) err() error {
	switch len(p.all) {
	case 0:
		return nil
	case 1:
		return &Error{p.kind, p.all[0].(error)}
	}
	return &Error{p.kind, fmt.Errorf("the host cannot start:"+strings.Repeat("\n  - %w", len(p.all)), p.all...)}
}

// aboutSetting adds the setting's name to an error.
func aboutSetting(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--%s: %w", name, err)
}

// logKind returns the kind for an error from opening the log.
func logKind(err error) Kind {
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case slices.ContainsFunc([]error{
		raftlog.ErrDirectoryInUse, raftlog.ErrOtherHost, raftlog.ErrOtherDeployment, raftlog.ErrInitialMembersChanged,
		raftlog.ErrOtherIncarnation, raftlog.ErrHostnameChanged, raftlog.ErrWorkersChanged, raftlog.ErrFormat,
		raftlog.ErrDamaged,
	}, is):
		return KindData
	case is(syscall.EADDRINUSE), is(syscall.EADDRNOTAVAIL):
		return KindAddress
	case is(raftlog.ErrConfig):
		return KindSettings
	}
	return KindOther
}
