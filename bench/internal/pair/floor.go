package pair

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/bench/internal/load"
)

// Floor is a side with one caller: a log proposal, then an echo, each after a pause as long as the other. Only proposal
// and echo are timed, without the messages to the log's process.
type Floor struct {
	Log  Side // one proposal per turn
	Echo load.Operation
	Ctx  context.Context
}

var _ Side = (*Floor)(nil)

// Turn implements Side.
func (f *Floor) Turn(d time.Duration) (done int64, took time.Duration, err error) {
	from := time.Duration(leadIn * float64(d))
	for began := time.Now(); time.Since(began) < from+d; {
		_, proposing, err := f.Log.Turn(0)
		if err != nil {
			return 0, 0, err
		}
		sent := time.Now()
		if err := f.Echo(f.Ctx); err != nil {
			return 0, 0, err
		}
		if sent.Sub(began) >= from {
			done, took = done+1, took+proposing+time.Since(sent)
		}
	}
	return done, took, nil
}

// Bare is the side of a bare log. Every turn is one proposal, for any requested length.
type Bare struct {
	Ready   func(context.Context) error // called before the first turn
	Propose load.Operation
	Ctx     context.Context
}

var _ Side = (*Bare)(nil)

// Turn implements Side.
func (b *Bare) Turn(time.Duration) (done int64, took time.Duration, err error) {
	if b.Ready != nil {
		if err := b.Ready(b.Ctx); err != nil {
			return 0, 0, err
		}
		b.Ready = nil
	}
	began := time.Now()
	err = b.Propose(b.Ctx)
	return 1, time.Since(began), err
}
