package host

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	rafttransport "github.com/signalbox/signalbox/shard/raftlog/transport"
)

// announcements is a log handler that passes on leader announcements.
type announcements struct {
	slog.Handler
	heard chan string
}

func (a announcements) Enabled(context.Context, slog.Level) bool { return true }

func (a announcements) Handle(_ context.Context, r slog.Record) error {
	if r.Message == leadsNoted {
		select {
		case a.heard <- r.Message:
		default:
		}
	}
	return nil
}

func (a announcements) WithAttrs([]slog.Attr) slog.Handler { return a }
func (a announcements) WithGroup(string) slog.Handler      { return a }

// TestHostsHearWhoLeads: each shard has a leader, so at least two of three hosts receive an announcement.
func TestHostsHearWhoLeads(t *testing.T) {
	t.Parallel() // mostly waiting
	var hosts []*Host
	var heard []chan string
	for _, s := range newClusterSettings(t, "a", "b", "c") {
		a := announcements{slog.DiscardHandler, make(chan string, 1)}
		h, err := Start(Options{Settings: s, Log: slog.New(a)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Close)
		hosts, heard = append(hosts, h), append(heard, a.heard)
	}
	awaitReady(t, hosts...)
	var waiting sync.WaitGroup
	end, enough := context.WithCancel(within(t, time.Minute))
	got := make(chan struct{}, len(hosts))
	for _, h := range heard {
		waiting.Go(func() {
			select {
			case <-h:
				got <- struct{}{}
			case <-end.Done():
			}
		})
	}
	for range 2 {
		select {
		case <-got:
		case <-end.Done():
			t.Fatal("fewer than two hosts have heard who leads")
		}
	}
	enough()
	waiting.Wait()
}

// TestAnnouncementsOfLeadersAreOfHostsOfTheCluster, and have their form.
func TestAnnouncementsOfLeadersAreOfHostsOfTheCluster(t *testing.T) {
	h := start(t, Options{Settings: newSettings(t)})
	good := []byte(`{"leads":[{"shard":0,"term":7},{"shard":1,"term":9},{"shard":99,"term":9}]}`)
	named := rafttransport.Peer{Identity: rafttransport.Identity{Host: 9}}
	if got, err := h.answer(t.Context(), named, good); err != nil || string(got) != "{}" {
		t.Errorf("have %q, %v", got, err)
	}
	if _, err := h.answer(t.Context(), rafttransport.Peer{}, good); err == nil {
		t.Error("a host without a name is believed")
	}
	if _, err := h.answer(t.Context(), named, bytes.Replace(good, []byte("9"), []byte("-9"), 1)); err == nil ||
		!strings.Contains(err.Error(), "term") {
		t.Errorf("a negative term: %v", err)
	}
}

// TestAHostOfABuildWithoutAnnouncementsAnswersWithAnError: for such a host, the request is no valid frame payload.
func TestAHostOfABuildWithoutAnnouncementsAnswersWithAnError(t *testing.T) {
	h := start(t, Options{Settings: newSettings(t)})
	named := rafttransport.Peer{Identity: rafttransport.Identity{Host: 9}}
	if _, err := h.answerHost(t.Context(), &named, []byte(leadsPrefix+`[]}`)); err == nil {
		t.Error("the request is read as another one")
	}
}
