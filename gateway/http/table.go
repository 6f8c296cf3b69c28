package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/internal/fairshare"
	"github.com/signalbox/signalbox/internal/httplimit"
	"github.com/signalbox/signalbox/protocol"
)

// route is a row in the route table, from which handlers, the OpenAPI document and the docs page are generated.
type route struct {
	method, path string
	group        string // the heading in the docs
	does         string // in a sentence without a point
	right        string // of the token
	request      reflect.Type
	answer       reflect.Type // nil for a stream
	streams      string       // a stream's media type, empty for JSON responses
	// ask runs a request, for a route that responds at once.
	ask   func(ctx context.Context, c *call, request any) (any, error)
	serve func(c *call) error
	// follow publishes a read route's responses, now and after every change, until the context ends.
	follow follower
}

// name returns the operation's name in the OpenAPI document: the words in the path.
func (r *route) name() string {
	words := strings.FieldsFunc(strings.TrimPrefix(r.path, version), func(c rune) bool { return !isLetter(c) })
	return strings.ToLower(r.method) + "_" + strings.Join(words, "_")
}

func isLetter(c rune) bool { return c >= 'a' && c <= 'z' }

// changes reports whether the route changes something.
func (r *route) changes() bool { return r.method == http.MethodPost }

// audited reports whether hosts record the route's caller, after success and after rejection.
func (r *route) audited() bool { return r.right != "read" && r.right != "acquire" && r.right != "none" }

// call is a request under way.
type call struct {
	gateway  *Gateway
	caller   *caller
	token    string // empty for none
	byCookie bool
	body     []byte // whole request body
	asked    any    // the decoded request
	text     []byte // of the answer
	room     *room  // for the answer; nil for a change
	w        http.ResponseWriter
	r        *http.Request
	conn     *httplimit.Conn
	turn     *fairshare.Turn
	from     netip.Addr    // of the caller
	address  string        // caller's address for display, including the proxy
	spent    time.Duration // share of callTimeout spent on finding the caller
}

const (
	// version begins all paths.
	version = "/v1"
	// maxBody is the maximum request body size: 1 MiB data in base64, plus the other members.
	maxBody = 2 << 20
	// callTimeout is the total time limit for a request, except waits for other sessions. Including detachTimeout, a
	// caller has its response within three seconds, whatever hosts do.
	callTimeout = 2500 * time.Millisecond
	// maxWait is a third of the longest session timeout.
	maxWait = 10 * time.Minute
)

// A route with the method get reads, and a route with the method post changes something.
const get, post = http.MethodGet, http.MethodPost

// answering creates a row for a route with a function that returns the response.
func answering[Q, A any](
	method, path, group, right, does string, f func(context.Context, *call, *Q) (A, error),
) route {
	return route{
		method: method, path: version + path, group: group, right: right, does: does,
		request: reflect.TypeFor[Q](), answer: reflect.TypeFor[A](),
		ask: func(ctx context.Context, c *call, request any) (any, error) { return f(ctx, c, request.(*Q)) },
	}.answered()
}

// routesOf creates routes from the plain operation table.
func routesOf(all []operation.Operation) (list []route) {
	for _, o := range all {
		method := get
		if o.Changes {
			method = post
		}
		r := route{
			method: method, path: version + o.Path, group: o.Group, right: o.Kind.Right().String(), does: o.Does,
			request: o.Request, answer: o.Answer,
			ask: func(ctx context.Context, c *call, request any) (any, error) {
				return o.Run(ctx, c.caller.Client, request)
			},
		}.answered()
		if o.Follow != nil {
			r.follow = r.following(o)
		}
		list = append(list, r)
	}
	return list
}

// answered completes a route that responds at once.
func (r route) answered() route {
	r.follow = r.polling
	r.serve = r.serving(func(c *call) (context.Context, context.CancelFunc) { return c.within(c.r.Context()) })
	return r
}

// serving serves a route that responds at once, with the context that bounds its work.
func (r *route) serving(bound func(*call) (context.Context, context.CancelFunc)) func(*call) error {
	of := *r
	return func(c *call) error {
		asked, err := c.read(of.request)
		if err != nil {
			return err
		}
		ctx, cancel := bound(c)
		defer cancel()
		var answer any
		if of.changes() {
			answer, err = of.ask(ctx, c, asked)
		} else {
			answer, c.room, err = of.reserved(ctx, c, asked)
		}
		if err != nil {
			return err
		}
		c.text, err = c.room.encode(answer)
		return err
	}
}

// within returns the context for a request's work, which ends after the request's time limit.
func (c *call) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, callTimeout-c.spent, errTooLong)
}

// errTooLong is why a request is given up.
var errTooLong error = tooLong{}

// tooLong means that a request's time is over.
type tooLong struct{}

func (tooLong) Error() string {
	return fmt.Sprintf("the cluster did not complete the request within %v", callTimeout)
}

func (tooLong) Is(target error) bool { return target == context.DeadlineExceeded }

// waiting creates a row for a route that may wait for other sessions: up to maxWait, plus the route's own time before
// and after. The function bounds both.
func waiting[Q, A any](path, group, does string, f func(context.Context, *call, *Q) (A, error)) route {
	r := answering(post, path, group, "acquire", does, f)
	r.serve = r.serving(func(c *call) (context.Context, context.CancelFunc) {
		_ = http.NewResponseController(c.w).SetWriteDeadline(time.Now().Add(maxWait + answerTimeout))
		return context.WithCancel(c.r.Context())
	})
	return r
}

// stream creates a row for a route with a function that writes the response itself.
func stream[Q any](method, path, group, right, does, contentType string, f func(*call, *Q) error) route {
	return route{
		method: method, path: version + path, group: group, right: right, does: does,
		request: reflect.TypeFor[Q](), streams: contentType,
		serve: func(c *call) error {
			request, err := c.read(reflect.TypeFor[Q]())
			if err != nil {
				return err
			}
			return f(c, request.(*Q))
		},
	}
}

// smallBody is the room given to a body at first.
const smallBody = 512

// receive reads a request's whole body.
func (c *call) receive() error {
	body, text := http.MaxBytesReader(c.w, c.r.Body, maxBody), []byte(nil)
	for {
		if len(text) == cap(text) {
			text = slices.Grow(text, max(len(text), smallBody))
			if !c.conn.Hold(cap(text)) {
				return refuse(protocol.StatusOverloaded, "too many request bodies in transfer")
			}
		}
		n, err := body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case errors.Is(err, io.EOF):
			c.body = text
			c.w.Header().Del("Connection")
			// The read deadline would be mistaken for the caller leaving.
			_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
			return nil
		case err != nil:
			c.gateway.unfinished.Add(1)
			return unreadable(err)
		}
	}
}

// unreadable says why a body cannot be read.
func unreadable(err error) *problem {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return refuseCode(http.StatusRequestEntityTooLarge, protocol.StatusBadRequest,
			fmt.Sprintf("the request body is larger than %d bytes", large.Limit), "send a smaller body")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refuseCode(http.StatusRequestTimeout, protocol.StatusBadRequest,
			"the request body did not arrive within "+bodyTimeout.String(), "send the request again on another "+
				"connection")
	}
	return refuse(protocol.StatusBadRequest, "cannot read the request body: "+err.Error())
}

// read decodes the request into a new value with the given type: a change from the body, a read from the query.
func (c *call) read(of reflect.Type) (request any, err error) {
	request = reflect.New(of).Interface()
	c.asked = request
	if c.r.Method == http.MethodPost {
		err = apijson.Decode(c.body, request)
	} else {
		err = apijson.DecodeQuery(c.r.URL.Query(), request)
	}
	if err != nil {
		return nil, refuse(protocol.StatusBadRequest, err.Error())
	}
	return request, nil
}
