package http

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// route is a row of the table of routes, from which the handlers, the OpenAPI document and the page of the docs are
// made.
type route struct {
	method, path string
	group        string // what it is about, as headings have it
	does         string // in a sentence without a point
	right        string // that the token needs
	request      reflect.Type
	answer       reflect.Type // nil where it is a stream
	streams      string       // the media type of a stream, empty where the answer is JSON
	serve        func(c *call) error
	// follow publishes what a route that reads would answer, now and whenever it has changed, until the context ends.
	follow follower
}

// name is the operation's name in the OpenAPI document: the words of its path.
func (r *route) name() string {
	words := strings.FieldsFunc(strings.TrimPrefix(r.path, version), func(c rune) bool { return !isLetter(c) })
	return strings.ToLower(r.method) + "_" + strings.Join(words, "_")
}

func isLetter(c rune) bool { return c >= 'a' && c <= 'z' }

// changes reports whether the route changes something.
func (r *route) changes() bool { return r.method == http.MethodPost }

// call is one request under way.
type call struct {
	gateway *Gateway
	caller  *caller
	token   string // empty for none
	asked   any    // the request, once it is read
	w       http.ResponseWriter
	r       *http.Request
}

// none is the request of a route that takes nothing.
type none struct{}

// done is the answer of a change that has nothing more to say.
type done struct {
	Changed bool `about:"false: it was so already"`
}

const (
	// version begins all paths.
	version = "/v1"
	// maxBody bounds the body of a request: data of 1 MiB in base 64, and what is around it.
	maxBody = 2 << 20
	// callTimeout is how long a route that does not wait for others tries.
	callTimeout = 15 * time.Second
	// maxWait is a third of the longest timeout of a session.
	maxWait = 10 * time.Minute
)

// get makes a row for a route that reads, post for one that changes something: what the function returns is the answer.
func get[Q, A any](path, group, right, does string, f func(context.Context, *call, *Q) (A, error)) route {
	return answering(http.MethodGet, path, group, right, does, f)
}

func post[Q, A any](path, group, right, does string, f func(context.Context, *call, *Q) (A, error)) route {
	return answering(http.MethodPost, path, group, right, does, f)
}

func answering[Q, A any](
	method, path, group, right, does string, f func(context.Context, *call, *Q) (A, error),
) route {
	return route{
		method: method, path: version + path, group: group, right: right, does: does,
		request: reflect.TypeFor[Q](), answer: reflect.TypeFor[A](),
		follow: polling(f),
		serve: func(c *call) error {
			var q Q
			if err := c.read(&q); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.r.Context(), callTimeout)
			defer cancel()
			answer, err := f(ctx, c, &q)
			if err != nil {
				return err
			}
			return c.answer(answer)
		},
	}
}

// waiting is post for a route that may wait for others: a third of the longest timeout of a session, and its own time.
func waiting[Q, A any](path, group, does string, f func(context.Context, *call, *Q) (A, error)) route {
	r := post(path, group, "acquire", does, f)
	r.serve = func(c *call) error {
		var q Q
		if err := c.read(&q); err != nil {
			return err
		}
		control := http.NewResponseController(c.w)
		_ = control.SetReadDeadline(time.Time{}) // its end would be taken for that of the caller
		_ = control.SetWriteDeadline(time.Now().Add(maxWait + answerTimeout))
		ctx, cancel := context.WithTimeout(c.r.Context(), maxWait+callTimeout)
		defer cancel()
		answer, err := f(ctx, c, &q)
		if err != nil {
			return err
		}
		return c.answer(answer)
	}
	return r
}

// stream makes a row for a route that writes its answer itself.
func stream[Q any](method, path, group, right, does, contentType string, f func(*call, *Q) error) route {
	return route{
		method: method, path: version + path, group: group, right: right, does: does,
		request: reflect.TypeFor[Q](), streams: contentType,
		serve: func(c *call) error {
			var q Q
			if err := c.read(&q); err != nil {
				return err
			}
			return f(c, &q)
		},
	}
}

// answer writes an answer in JSON.
func (c *call) answer(v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	writeBody(c.w, http.StatusOK, "application/json", text)
	return nil
}

// read reads what is asked for: of a GET from the query, else from the body.
func (c *call) read(into any) error {
	var err error
	c.asked = into
	if c.r.Method == http.MethodGet {
		err = decodeQuery(c.r.URL.Query(), into)
	} else {
		var text []byte
		if text, err = io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxBody)); err == nil {
			err = decode(text, into)
		}
	}
	if err != nil {
		return refuse(protocol.StatusBadRequest, err.Error())
	}
	return nil
}

// decodeQuery reads the parameters of a query into a structure. They are written as in JSON, without the quotes.
func decodeQuery(query map[string][]string, into any) error {
	known := fieldsOf(reflect.TypeOf(into).Elem())
	members := make(map[string]json.RawMessage)
	for name, texts := range query {
		at := slices.IndexFunc(known, func(f field) bool { return f.name == name })
		if at < 0 {
			return fmt.Errorf("the parameter %s is not known here", name)
		}
		list := known[at].of.Kind() == reflect.Slice && known[at].of != bytesType
		if len(texts) > 1 && !list {
			return fmt.Errorf("the parameter %s is there more than once", name)
		}
		members[name] = inJSON(known[at].of, texts, list)
	}
	text, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("the query cannot be read: %w", err)
	}
	return decode(text, into)
}

// inJSON writes the texts of a parameter as a request in JSON would have them.
func inJSON(t reflect.Type, texts []string, list bool) json.RawMessage {
	if list {
		text, _ := json.Marshal(texts)
		return text
	}
	text := texts[0]
	switch {
	case t.Kind() == reflect.Bool && text == "":
		return json.RawMessage("true")
	case t == durationType || !worded(t) && (t.Kind() == reflect.Bool || t.Kind() == reflect.Int):
		if json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	}
	quoted, _ := json.Marshal(text)
	return quoted
}
