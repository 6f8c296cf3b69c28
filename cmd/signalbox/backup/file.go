package backup

import (
	"context"
	"io"
	"time"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// defaultRate is how much of a backup is written in a second.
const defaultRate = 8 << 20

// steady writes no faster than so many bytes a second, piece by piece: what others do on the same machine, and on the
// disk, goes on in between.
type steady struct {
	ctx  context.Context
	w    io.Writer
	rate uint64 // 0: without a bound

	due time.Time // of the next piece
}

// Write implements io.Writer.
func (s *steady) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		piece := p[:min(len(p), cli.PieceBytes)]
		if err = s.wait(len(piece)); err != nil {
			break
		}
		var written int
		written, err = s.w.Write(piece)
		n, p = n+written, p[written:]
	}
	return n, err
}

// wait waits until a piece of so many bytes is due. Time that went by without any is not made up for.
func (s *steady) wait(bytes int) error {
	if s.rate == 0 {
		return nil
	}
	now := time.Now()
	if s.due.Before(now) {
		s.due = now
	}
	pause := s.due.Sub(now)
	s.due = s.due.Add(time.Duration(bytes) * time.Second / time.Duration(s.rate))
	if !cli.SleepFor(s.ctx, pause) {
		return context.Cause(s.ctx)
	}
	return nil
}
