package rollout_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/clienttest"
)

// source is a source in the background. The test answers its questions.
type source struct {
	asked   chan context.Context
	answers chan made
	err     chan error
	stop    context.CancelFunc
}

type made struct {
	payload string
	err     error
}

// source makes a session a source.
func (st *stage) source(s *client.Session, options ...rollout.SourceOption) *source {
	ctx, stop := context.WithCancel(context.Background())
	src := &source{
		asked: make(chan context.Context), answers: make(chan made), err: make(chan error, 1), stop: stop,
	}
	st.T.Cleanup(stop)
	go func() {
		src.err <- rollout.Source(ctx, s, name, func(ctx context.Context) (rollout.Version, error) {
			select {
			case src.asked <- ctx:
			case <-ctx.Done():
				return rollout.Version{}, context.Cause(ctx)
			}
			select {
			case m := <-src.answers:
				return rollout.Version{Payload: []byte(m.payload), Label: m.payload[:min(len(m.payload), 64)]}, m.err
			case <-ctx.Done():
				return rollout.Version{}, context.Cause(ctx)
			}
		}, options...)
	}()
	return src
}

// question returns the next question's context.
func (s *source) question(t *testing.T) context.Context {
	t.Helper()
	select {
	case ctx := <-s.asked:
		return ctx
	case <-time.After(never):
		t.Fatal("the source is not asked")
		return nil
	}
}

// ended waits until a question is void.
func ended(t *testing.T, question context.Context) {
	t.Helper()
	select {
	case <-question.Done():
	case <-time.After(never):
		t.Fatal("the question that is void goes on")
	}
}

// answer answers the next question.
func (s *source) answer(t *testing.T, payload string, err error) {
	t.Helper()
	s.question(t)
	s.answers <- made{payload, err}
}

// quiet checks that the source gets no question.
func (s *source) quiet(t *testing.T) {
	t.Helper()
	select {
	case <-s.asked:
		t.Fatal("the source is asked")
	case <-time.After(500 * time.Millisecond):
	}
}

// end returns the source's final error.
func (s *source) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.err:
		return err
	case <-time.After(never):
		t.Fatal("the source goes on")
		return nil
	}
}

// asked is a spec with versions from a source.
func asked() rollout.Spec {
	s := spec()
	s.Versions = rollout.Asked
	return s
}

// TestASourceIsAskedWhereAVersionIsWanted, once for each, and not earlier.
func TestASourceIsAskedWhereAVersionIsWanted(t *testing.T) {
	play(t, 1, asked(), func(t *testing.T, g *stage) {
		src := g.source(g.Session(), rollout.SourceName("generator"))
		src.quiet(t) // there is no instance
		sas := g.run(g.join("sas", "a.sas"))
		for seq := uint64(1); seq <= 3; seq++ {
			src.answer(t, "zone "+decimal(seq), nil)
			target := sas.next(t)
			if want := "zone " + decimal(seq); string(target.Payload) != want || target.Label != want {
				t.Errorf("got %+v", target)
			}
			src.quiet(t) // the leader has not reached the version
			sas.apply <- nil
		}
		if got := g.state().Sources; len(got) != 1 || got[0] != "generator" {
			t.Errorf("the sources are %q", got)
		}
	})
}

// TestADeclinedQuestionIsAskedAgain after the interval, and people see why.
func TestADeclinedQuestionIsAskedAgain(t *testing.T) {
	s := asked()
	s.AskInterval = 10 * time.Second
	play(t, 1, s, func(t *testing.T, g *stage) {
		src := g.source(g.Session())
		sas := g.run(g.join("sas", "a.sas"))
		began := time.Now()
		for _, c := range []struct {
			payload string
			err     error
			says    string
		}{
			{err: errors.New("nothing is ready"), says: "nothing is ready"},
			{payload: strings.Repeat("x", 64<<10+1), says: "65536"},
			{err: errors.New(""), says: "no reason"},
		} {
			src.answer(t, c.payload, c.err)
			synctest.Wait()
			if got := g.state().Declined; !strings.Contains(got, c.says) {
				t.Errorf("the state says %q, want %q in it", got, c.says)
			}
		}
		src.answer(t, "zone", nil)
		if took := time.Since(began); took < 30*time.Second || took > 35*time.Second {
			t.Errorf("four questions have taken %v", took)
		}
		sas.reach(t, 1)
		if got := g.state().Declined; got != "" {
			t.Errorf("the state says %q after all", got)
		}
	})
}

// TestTheNextSourceIsAsked after the previous source's end, for any reason.
func TestTheNextSourceIsAsked(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(g *stage, s *client.Session, src *source)
	}{
		{"its context ends", func(_ *stage, _ *client.Session, src *source) { src.stop() }},
		{"its session is closed", func(g *stage, s *client.Session, _ *source) {
			clienttest.Check(g.T, s.Close(g.T.Context()))
		}},
		{"its session is destroyed", func(g *stage, s *client.Session, _ *source) { g.Destroy(s) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, 1, asked(), func(t *testing.T, g *stage) {
				s := g.Session()
				first := g.source(s)
				synctest.Wait()
				second := g.source(g.Session())
				synctest.Wait()
				sas := g.run(g.join("sas", "a.sas"))
				question := first.question(t)
				second.quiet(t)
				c.end(g, s, first)
				second.answer(t, "zone", nil)
				sas.reach(t, 1)
				ended(t, question)
				if first.end(t) == nil {
					t.Error("the first ends without an error")
				}
			})
		})
	}
}

// TestASourceOutlivesItsSession: it takes the role again with the replacement session.
func TestASourceOutlivesItsSession(t *testing.T) {
	play(t, 1, asked(), func(t *testing.T, g *stage) {
		s := g.Session(client.Recreate())
		src := g.source(s)
		sas := g.run(g.join("sas", "a.sas"))
		src.answer(t, "zone 1", nil)
		sas.reach(t, 1)
		question := src.question(t)
		g.Destroy(s)
		ended(t, question)
		src.answer(t, "zone 2", nil)
		sas.reach(t, 2)
	})
}

// TestAQuestionEndsThatIsVoid: versions are published from now on.
func TestAQuestionEndsThatIsVoid(t *testing.T) {
	play(t, 1, asked(), func(t *testing.T, g *stage) {
		src := g.source(g.Session())
		sas := g.run(g.join("sas", "a.sas"))
		question := src.question(t)
		_, err := g.rollout.Put(t.Context(), spec(), by)
		clienttest.Check(t, err)
		ended(t, question)
		if cause := context.Cause(question); cause != rollout.ErrSuperseded {
			t.Errorf("it ended by %v", cause)
		}
		g.publish("zone")
		sas.reach(t, 1)
		src.quiet(t)
	})
}

// TestASourceWaitsForItsRollout, even when it replaces another source.
func TestASourceWaitsForItsRollout(t *testing.T) {
	play(t, 1, asked(), func(t *testing.T, g *stage) {
		clienttest.Check(t, g.rollout.Delete(t.Context(), false))
		src := g.source(g.Session())
		time.Sleep(never)
		for range 2 {
			clienttest.Check(t, g.rollout.Create(t.Context(), asked(), by))
			m := g.join("sas", "a.sas")
			src.answer(t, "zone", nil)
			g.run(m).reach(t, 1)
			clienttest.Check(t, g.rollout.Delete(t.Context(), true))
			clienttest.Check(t, m.Leave(t.Context()))
		}
	})
}

// TestASessionIsInstanceAndSource of one rollout; each role can end without the other.
func TestASessionIsInstanceAndSource(t *testing.T) {
	play(t, 1, asked(), func(t *testing.T, g *stage) {
		s := g.Session()
		m := g.joinBy(s, "sas", "a.sas")
		src := g.source(s)
		r := g.run(m)
		src.answer(t, "zone", nil)
		r.reach(t, 1)
		src.stop()
		if err := src.end(t); !errors.Is(err, context.Canceled) {
			t.Errorf("the source ends with %v", err)
		}
		if i := g.instance("sas", "a.sas"); i == nil || i.Report.Current != 1 {
			t.Errorf("hosts know %+v", i)
		}
		if got := g.state().Sources; len(got) != 0 {
			t.Errorf("the sources are %q", got)
		}
	})
}
