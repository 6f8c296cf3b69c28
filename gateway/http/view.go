package http

import (
	"context"
	"errors"
	"hash/fnv"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/internal/fairshare"
)

// follower publishes a route's responses until the context ends, and returns why the route cannot be followed.
type follower func(ctx context.Context, c *call, request any, publish publisher) error

// publisher is called with a response and its revision, or 0 if the response has no revision.
type publisher = operation.Publisher

const (
	// pollPause is the minimum pause between two reads of a polled view, and pollShare the minimum pause as a multiple
	// of a read's duration: a view uses at most 1/pollShare of a processor.
	pollPause = 2 * time.Second
	pollShare = 20
	// retryPause is how long a view rests after a failed reading.
	retryPause = 5 * time.Second
)

// polling follows a route by calling the route again and again.
func (r *route) polling(ctx context.Context, c *call, request any, publish publisher) error {
	for {
		began := time.Now()
		if _, err := r.poll(ctx, c, request, publish); err != nil {
			return err
		}
		if err := rest(ctx, max(pollPause, pollShare*time.Since(began))); err != nil {
			return err
		}
	}
}

// poll publishes the route's current response.
func (r *route) poll(ctx context.Context, c *call, request any, publish publisher) (answer any, err error) {
	reading, cancel := c.within(ctx)
	defer cancel()
	answer, taken, err := r.reserved(reading, c, request)
	defer taken.leave()
	if err == nil {
		publish(0, answer)
	}
	return answer, err
}

// following follows an operation. A list longer than a page is not followed, because a watch would hold the whole list
// in memory. So the operation is read first. The view keeps that response's memory until the watch has shown the same.
func (r route) following(o operation.Operation) follower {
	return func(ctx context.Context, c *call, request any, publish publisher) error {
		reading, cancel := c.within(ctx)
		defer cancel()
		answer, taken, err := r.reserved(reading, c, request)
		read := sync.OnceFunc(taken.leave)
		defer read()
		switch {
		case err != nil && (o.FollowsPage || problemCode(err) == http.StatusTooManyRequests):
			return err
		case err != nil:
			read() // the watch shows a missing object
		case o.FollowsPage && answer.(interface{ Continues() bool }).Continues():
			read()
			return r.polling(ctx, c, request, publish)
		}
		context.AfterFunc(reading, read)
		err = o.Follow(ctx, c.caller.Client, request, func(revision uint64, answer any) {
			publish(revision, answer)
			read()
		})
		if errors.Is(err, operation.ErrLong) {
			return r.polling(ctx, c, request, publish)
		}
		return err
	}
}

func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mark identifies a view's response sent to a stream: by the response's revision, or by a checksum over its text.
type mark struct {
	revision uint64
	sum      uint64
}

// String encodes the mark for an event id.
func (m mark) String() string {
	if m.revision > 0 {
		return "r" + strconv.FormatUint(m.revision, 10)
	}
	return "s" + strconv.FormatUint(m.sum, 36)
}

// parseMark parses the output from String; other text yields no mark.
func parseMark(text string) (m mark) {
	if text == "" {
		return m
	}
	switch text[0] {
	case 'r':
		m.revision, _ = strconv.ParseUint(text[1:], 10, 64)
	case 's':
		m.sum, _ = strconv.ParseUint(text[1:], 36, 64)
	}
	return m
}

// after reports whether a stream that has sent the response marked sent should send the response marked m. A lagging
// host shows past revisions, which are skipped.
func (m mark) after(sent mark) bool {
	if m.revision > 0 && sent.revision > 0 {
		return m.revision > sent.revision
	}
	return m != sent
}

// view is a route with its parameters, for one caller. A view is read once for all its streams, and keeps only the
// newest response: a slow stream skips the responses in between.
type view struct {
	address string // route path with query
	cancel  context.CancelFunc
	budget  *budget // of the texts
	party   fairshare.Party

	mu      sync.Mutex
	mark    mark
	text    *viewText // newest response or problem; nil before the first
	streams map[*eventStream]bool
	ended   bool
	again   context.CancelFunc // has the view read anew after a pause
}

// viewText is a view's response, in memory that is freed when neither the view nor a stream uses the response.
type viewText struct {
	json []byte
	room *room
	uses int // guarded by the view's mu
}

// drop ends one use of a text. mu is held.
func (vt *viewText) drop() {
	if vt == nil {
		return
	}
	if vt.uses--; vt.uses == 0 {
		vt.room.leave()
	}
}

// publish makes a response the newest. If there is no memory for the response, the view reports that, and is read again
// later.
func (v *view) publish(revision uint64, answer any) {
	length, err := apijson.Length(answer)
	var taken *room
	if err == nil && length > freeText {
		taken, err = v.budget.reserve(context.Background(), v.party, length)
	}
	var text []byte
	if err == nil {
		text, err = apijson.Append(make([]byte, 0, length), answer)
	}
	if err != nil {
		revision = 0
		text, _ = apijson.Encode(failure{readProblem(err)})
		v.mu.Lock()
		again := v.again
		v.mu.Unlock()
		if again != nil {
			again()
		}
	}
	sum := fnv.New64a()
	_, _ = sum.Write(text)
	m := mark{revision: revision, sum: sum.Sum64()}
	if revision > 0 {
		m.sum = 0
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if m == v.mark && v.text != nil || v.ended {
		taken.leave()
		return
	}
	v.text.drop()
	v.mark, v.text = m, &viewText{text, taken, 1}
	for s := range v.streams {
		s.wake()
	}
}

// freeText is the maximum length of an uncounted response, such as a problem.
const freeText = 4 << 10

// newest returns the newest response if it follows the marked response. The caller must call drop.
func (v *view) newest(sent mark) (m mark, text *viewText, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.text == nil || !v.mark.after(sent) {
		return v.mark, nil, false
	}
	v.text.uses++
	return v.mark, v.text, true
}

// drop ends the use of a response.
func (v *view) drop(text *viewText) {
	v.mu.Lock()
	defer v.mu.Unlock()
	text.drop()
}

// end gives the newest answer up, and all later ones.
func (v *view) end() {
	v.cancel()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.text.drop()
	v.text, v.ended = nil, true
}

// views has the views for one caller's streams.
type views struct {
	caller *caller

	mu    sync.Mutex
	known map[string]*view
}

// show lets a stream show a view, and begins the view for the first stream.
func (vi *views) show(g *Gateway, of *route, address *url.URL, s *eventStream) *view {
	vi.mu.Lock()
	defer vi.mu.Unlock()
	key := address.String()
	v := vi.known[key]
	if v == nil {
		ctx, cancel := context.WithCancel(g.ctx)
		v = &view{address: key, cancel: cancel, streams: make(map[*eventStream]bool), budget: g.shown,
			party: fairshare.Party{Token: vi.caller.name}}
		if vi.known == nil {
			vi.known = make(map[string]*view)
		}
		vi.known[key] = v
		go v.follow(ctx, &call{gateway: g, caller: vi.caller}, of, address.Query())
	}
	v.mu.Lock()
	v.streams[s] = true
	v.mu.Unlock()
	return v
}

// hide removes a stream from a view, and ends the view with its last stream.
func (vi *views) hide(v *view, s *eventStream) {
	vi.mu.Lock()
	defer vi.mu.Unlock()
	v.mu.Lock()
	delete(v.streams, s)
	last := len(v.streams) == 0
	v.mu.Unlock()
	if last && vi.known[v.address] == v {
		delete(vi.known, v.address)
		v.end()
	}
}

// follow reads the view until the context ends. A read failure is shown in place of the response.
func (v *view) follow(ctx context.Context, c *call, of *route, query url.Values) {
	late := time.AfterFunc(callTimeout, v.publishLate)
	defer late.Stop()
	for {
		request := reflect.New(of.request).Interface()
		err := apijson.DecodeQuery(query, request)
		if err == nil {
			following, again := context.WithCancel(ctx)
			v.mu.Lock()
			v.again = again
			v.mu.Unlock()
			err = of.follow(following, c, request, v.publish)
			if following.Err() != nil {
				err = nil // the view shows why
			}
			again()
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			v.publish(0, failure{readProblem(err)})
		}
		if rest(ctx, retryPause) != nil {
			return
		}
	}
}

// publishLate shows a problem in a view without an answer in time. A route that is followed without polling waits for
// the shard without an error, and a reader must not take the wait for an empty answer.
func (v *view) publishLate() {
	v.mu.Lock()
	late := v.text == nil
	v.mu.Unlock()
	if late {
		v.publish(0, failure{readProblem(errTooLong)})
	}
}

// failure is shown in place of an unreadable view.
type failure struct{ Problem *problem }
