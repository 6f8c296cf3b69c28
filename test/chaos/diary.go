//go:build linux

package chaos

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

const (
	// diaries is how many writers there are that do nothing else: enough that hosts have snapshots to save now and
	// then.
	diaries = 3
	// diaryPause is the pause of a writer between two numbers.
	diaryPause = 2 * time.Millisecond
	// diaryTimeout is that of a writer's session.
	diaryTimeout = 20 * time.Second
)

// diary is a semaphore whose only writer has counted in it: in the end it has the last number that was
// acknowledged, or the one that was written last.
type diary struct {
	name               string
	acknowledged, sent int
}

// keep writes diaries until the context ends. Where the outcome of a number is not known, the writer begins another
// one: what it gave up may take effect later.
func (s *stage) keep(ctx context.Context, writer int) {
	for n := 0; ctx.Err() == nil; n++ {
		d := diary{name: fmt.Sprintf("diary-%d-%d", writer, n)}
		if s.keepOne(ctx, &d) {
			s.mu.Lock()
			s.diaries = append(s.diaries, d)
			s.mu.Unlock()
		}
		workload.Sleep(ctx, 100*time.Millisecond)
	}
}

// keepOne writes a diary, and tells whether there is one.
func (s *stage) keepOne(ctx context.Context, d *diary) bool {
	session, err := s.direct.Session(ctx, s.node, client.SessionTimeout(diaryTimeout))
	if err != nil {
		return false
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = session.Close(ctx) // it owns nothing
	}()
	x := session.Semaphore(d.name)
	if x.Create(ctx, 1, []byte("0")) != nil {
		return false
	}
	for workload.Sleep(ctx, diaryPause) {
		d.sent++
		if err := x.Update(ctx, []byte(strconv.Itoa(d.sent))); err != nil {
			if is, text := workload.OutcomeOf(err); is != history.Unknown {
				s.journal.note("%s cannot be written: %s", d.name, text)
			}
			break
		}
		d.acknowledged = d.sent
	}
	return true
}

// readDiaries compares all diaries with what their writers know.
func (s *stage) readDiaries() {
	for _, d := range s.diaries {
		ctx, cancel := context.WithTimeout(context.Background(), readyPatience)
		var details *client.SemaphoreDetails
		err := workload.Persist(ctx, func() (err error) {
			details, err = s.direct.Node(s.node).Describe(ctx, d.name, client.WithConsistency(client.Strict))
			return err
		})
		cancel()
		has := math.MinInt
		if err == nil {
			has, err = strconv.Atoi(string(details.Data))
		}
		if err != nil || has < d.acknowledged || has > d.sent {
			s.journal.note("in the end %s has %d, though %d was acknowledged and %d the last that was sent: %v", d.name, has, d.acknowledged, d.sent, err)
		}
	}
}
