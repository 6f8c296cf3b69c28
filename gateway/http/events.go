package http

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

const (
	// maxViews is how many views a single stream shows.
	maxViews = 16
	// heartbeat is how often a stream without changes sends a heartbeat.
	heartbeat = 15 * time.Second
	// streamAge is a stream's maximum duration. A browser starts a new stream by itself, with the old stream's marks.
	streamAge = 10 * time.Minute
	// writeTimeout is how long a reader may take to read written events, before the stream ends.
	writeTimeout = 20 * time.Second
	// eventStreamType is the media type for event streams, and lastEventHeader the header with which a reader resumes.
	eventStreamType = "text/event-stream"
	lastEventHeader = "Last-Event-ID"
)

// eventsRequest asks for a stream.
type eventsRequest struct {
	Watch []string `need:"true" about:"URL-encoded address of a GET route, such as /v1/election/leader?node=/a&name=b"`
}

// eventStream is a stream under way.
type eventStream struct {
	changed chan struct{}
	views   []*view
	sent    []mark // by view
}

// wake makes the stream check its views.
func (s *eventStream) wake() {
	select {
	case s.changed <- struct{}{}:
	default: // the stream will look anyway
	}
}

// events serves a stream with other routes' responses: now, and after every change.
func events(c *call, q *eventsRequest) error {
	if len(q.Watch) == 0 || len(q.Watch) > maxViews {
		return refuse(protocol.StatusBadRequest, fmt.Sprintf("an event stream needs 1 to %d watch "+
			"parameters", maxViews))
	}
	open, leave, err := c.wait(c.r.Context())
	if err != nil {
		return err
	}
	defer leave()
	c.gateway.streams.Add(1)
	defer c.gateway.streams.Add(-1)
	s := &eventStream{changed: make(chan struct{}, 1), sent: resumed(c.r, len(q.Watch))}
	for _, watched := range q.Watch {
		of, address, err := c.gateway.followable(watched)
		if err != nil {
			return err
		}
		v := c.caller.views.show(c.gateway, of, address, s)
		defer c.caller.views.hide(v, s)
		s.views = append(s.views, v)
	}
	s.wake() // for responses read earlier for other streams
	c.w.Header().Set("Content-Type", eventStreamType)
	c.w.Header().Set("Cache-Control", "no-store")
	c.w.Header().Set("X-Accel-Buffering", "no")
	c.turn.End()
	return s.write(c, open)
}

// followable finds the route for a stream's address.
func (g *Gateway) followable(watched string) (*route, *url.URL, error) {
	address, err := url.Parse(watched)
	if err == nil {
		for i := range g.routes {
			r := &g.routes[i]
			if r.follow != nil && !r.changes() && r.path == address.Path && address.Host == "" {
				return r, address, nil
			}
		}
	}
	return nil, nil, refuse(protocol.StatusBadRequest, "no GET route has the address "+watched)
}

// resumed determines which responses the reader of an earlier stream had, from the last event id read.
func resumed(r *http.Request, views int) []mark {
	sent := make([]mark, views)
	for i, text := range strings.Split(r.Header.Get(lastEventHeader), ",") {
		if i < views {
			sent[i] = parseMark(text)
		}
	}
	return sent
}

// write writes events until the reader or the gateway ends the stream, or another party needs the slot.
func (s *eventStream) write(c *call, open context.Context) error {
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Time{}) // the read deadline would count as the reader leaving
	end, beat := time.NewTimer(streamAge), time.NewTicker(heartbeat)
	defer end.Stop()
	defer beat.Stop()
	say := func(w io.Writer) error { return written(io.WriteString(w, "retry: 1000\n\n")) }
	for {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if say(c.w) != nil || control.Flush() != nil {
			return nil
		}
		select {
		case <-s.changed:
			say = s.writePending
		case <-beat.C:
			say = func(w io.Writer) error { return written(io.WriteString(w, ":\n\n")) }
		case <-end.C:
			return nil
		case <-open.Done():
			return nil
		}
	}
}

// writePending writes events for views that have changed since their last event.
func (s *eventStream) writePending(w io.Writer) error {
	for i, v := range s.views {
		m, text, ok := v.newest(s.sent[i])
		if !ok {
			continue
		}
		s.sent[i] = m
		_, err := fmt.Fprintf(w, "id: %s\nevent: answer\ndata: {\"watch\":%d,\"answer\":", s.id(), i)
		if err == nil {
			_, err = w.Write(text.json) // shared by all streams
		}
		v.drop(text)
		if err == nil {
			_, err = io.WriteString(w, "}\n\n")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func written(_ int, err error) error { return err }

// id returns the state from which a later stream continues.
func (s *eventStream) id() string {
	marks := make([]string, len(s.sent))
	for i, m := range s.sent {
		if m != (mark{}) {
			marks[i] = m.String()
		}
	}
	return strings.Join(marks, ",")
}
