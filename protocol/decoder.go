package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// FrameHeaderBytes is the size of the length before every frame's payload.
const FrameHeaderBytes = 4

var (
	// ErrFrameTooLarge: a frame announces more bytes than the limit in force. Without reading the whole frame there is
	// no way to find the next frame, so the connection is closed.
	ErrFrameTooLarge = errors.New("frame too large")
	// ErrFrameEmpty: a frame announces no bytes. Messages are never that short, so the peer does not speak this
	// protocol, and the connection is closed.
	ErrFrameEmpty = errors.New("empty frame")
)

// ScanFrame looks for one frame at the start of b, the bytes received on a connection.
//
// If the frame is complete, payload is its msgpack array, a view into b, and size is the frame size in b. If the frame
// is incomplete, payload is nil and size is the number of bytes that b must have before the next scan is useful.
// ScanFrame compares the announced length with limit, the maximum payload size, as soon as the length has arrived:
// callers never need capacity for more than FrameHeaderBytes+limit.
func ScanFrame(b []byte, limit int) (payload []byte, size int, err error) {
	if len(b) < FrameHeaderBytes {
		return nil, FrameHeaderBytes, nil
	}
	length := binary.BigEndian.Uint32(b)
	if length == 0 {
		return nil, 0, fmt.Errorf("protocol: scan: %w", ErrFrameEmpty)
	}
	if int64(length) > int64(limit) {
		return nil, 0, fmt.Errorf("protocol: scan: %w: %d bytes announced, at most %d", ErrFrameTooLarge, length, limit)
	}
	size = FrameHeaderBytes + int(length)
	if len(b) < size {
		return nil, size, nil
	}
	return b[FrameHeaderBytes:size:size], size, nil
}

// Message returns a pointer to the field that Kind names, or nil for an unknown kind.
func (r *Request) Message() RequestMessage {
	if requestOf(r.Kind) != nil {
		return requestPlaces[r.Kind].request(r)
	}
	return nil
}

// RequestDecoder reads messages from clients. Each decoding goroutine should keep its own decoder, because decoding
// then allocates nothing.
type RequestDecoder struct {
	codec   *codec
	request Request
}

// NewRequestDecoder returns a decoder that refuses data longer than dataBytes, which is at most MaxDataBytes.
func NewRequestDecoder(dataBytes uint64) *RequestDecoder {
	d := &RequestDecoder{codec: newCodec()}
	d.codec.dataMax = min(dataBytes, MaxDataBytes)
	return d
}

// Decode reads one frame's payload. The request belongs to the decoder and is valid until the next call. Texts and
// bytes in the request are views into the payload, so callers must copy what they keep. An error is always a
// *DecodeError, with the kind and the id as far as Decode could read them.
func (d *RequestDecoder) Decode(payload []byte) (*Request, error) {
	c := d.codec
	r := &d.request
	r.Kind, r.ID = c.open(payload)
	if c.opened {
		if known := requestOf(r.Kind) != nil; !known && !r.Kind.IsRequest() {
			c.fail("kind", "not a request kind")
		} else if !known {
			c.failKind()
		} else if r.ID == 0 {
			c.fail("request_id", "0, which belongs to pushes")
		} else {
			requestPlaces[r.Kind].request(r).requestFields(c)
		}
	}
	if c.err != nil || c.left > 0 || c.off < len(payload) {
		if err := c.close(r.Kind, r.ID); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Message returns a pointer to the field that Kind names if Kind is an answer kind, or nil.
func (a *Answer) Message() AnswerMessage {
	if request := a.Kind - AnswerOffset; requestOf(request) != nil {
		return requestPlaces[request].answer(a)
	}
	return nil
}

// Push returns a pointer to the field that Kind names if Kind is a push kind, or nil.
func (a *Answer) Push() PushMessage {
	if isPush(a.Kind) {
		return pushPlaces[a.Kind-minPush1](a)
	}
	return nil
}

// AnswerDecoder reads messages from hosts. Each decoding goroutine should keep its own decoder, because decoding then
// allocates only the strings in failures.
type AnswerDecoder struct {
	codec  *codec
	answer Answer
}

// NewAnswerDecoder returns a decoder.
func NewAnswerDecoder() *AnswerDecoder {
	return &AnswerDecoder{codec: newCodec()}
}

// Decode reads one frame's payload. The answer belongs to the decoder and is valid until the next call. Texts, bytes
// and lists in the answer are views into the payload, so callers must copy what they keep; only the strings in a Result
// are copies already. An error is always a *DecodeError. An error with UnknownKind means that the message kind is
// unknown: a client ignores the message, unless it is an answer with an open request's id. Decode can read the refusal
// of any request, even with an unknown kind.
func (d *AnswerDecoder) Decode(payload []byte) (*Answer, error) {
	c := d.codec
	a := &d.answer
	a.Kind, a.ID = c.open(payload)
	a.Result = Result{}
	if c.opened {
		if request := a.Kind - AnswerOffset; requestOf(request) != nil {
			if c.left >= len(success) && bytes.HasPrefix(payload[c.off:], View(success)) {
				c.left, c.off = c.left-len(success), c.off+len(success)
			} else {
				c.result(&a.Result)
			}
			requestPlaces[request].answer(a).answerFields(c)
		} else if m := a.Push(); m != nil {
			m.pushFields(c)
		} else if a.Kind.IsAnswer() {
			d.unknownAnswer()
		} else {
			c.failKind()
		}
	}
	if c.err != nil || c.left > 0 || c.off < len(payload) {
		if err := c.close(a.Kind, a.ID); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// unknownAnswer reads the answer to a request with an unknown kind. Every answer begins with its outcome, and a refusal
// has nothing after the outcome, so unknownAnswer can read a refusal.
func (d *AnswerDecoder) unknownAnswer() {
	d.codec.result(&d.answer.Result)
	if d.codec.err == nil && d.answer.Result.Status == StatusSuccess {
		d.codec.failKind()
	}
}

// Every message is an array that begins with the kind and the request id.

// open reads a message's head. The message's fields come next.
func (c *codec) open(payload []byte) (kind Kind, id uint64) {
	c.writing, c.source = false, source{in: payload}
	if len(payload) > 0 && msgpcode.IsFixedArray(payload[0]) && int(payload[0]-msgpcode.FixedArrayLow) < len(payload) {
		c.left, c.off = int(payload[0]-msgpcode.FixedArrayLow), 1
	} else {
		c.left = c.arrayLen("")
	}
	if c.left < 2 && c.err == nil {
		c.fail("", "an array of "+strconv.Itoa(c.left)+" items, where a kind and a request id come first")
	}
	if c.err != nil {
		return 0, 0
	}
	var number uint64
	c.uint("kind", &number)
	if number > uint64(maxKind) {
		c.fail("kind", strconv.FormatUint(number, 10)+", at most "+strconv.Itoa(int(maxKind)))
		return 0, 0
	}
	c.uint("request_id", &id)
	c.opened = c.err == nil
	return Kind(number), id
}

// failKind reports that the message's fields are unknown.
func (c *codec) failKind() {
	c.fail("kind", "not known here")
	c.err.UnknownKind = true
}

// close skips unknown fields at the end, checks that nothing follows the message, and returns the error for the whole
// message. A valid message in this version needs no close: it ends with its last field.
func (c *codec) close(kind Kind, id uint64) error {
	c.skip(c.left)
	if c.err == nil && c.rest() > 0 {
		c.fail("", strconv.Itoa(c.rest())+" bytes behind the message")
	}
	if c.err == nil {
		return nil
	}
	c.err.Kind, c.err.ID, c.err.HasID = kind, id, c.opened && id != 0
	return c.err
}

// truncated is the problem if a value continues after the frame's end.
const truncated = "the frame ends in the middle of it"

// DecodeError describes what is wrong with a frame's payload. A frame has its own length, so the connection can
// continue after an unreadable frame; the reader decides whether to continue.
type DecodeError struct {
	// Kind and ID are the message's kind and id, as far as the decoder could read them; HasID reports whether the id
	// could be read.
	Kind  Kind
	ID    uint64
	HasID bool
	// Field is the path of the invalid field, such as "owners[2].data"; empty if the message as a whole is invalid.
	Field string
	// Problem describes what is wrong with the field.
	Problem string
	// UnknownKind is set if the frame is valid, but the message kind is unknown here. A client ignores a push with an
	// unknown kind; a host answers a request with an unknown kind with StatusUnsupported.
	UnknownKind bool
}

// Answerable reports whether the unreadable message was a request that can be answered: the id is known, and the kind
// has an answer.
func (e *DecodeError) Answerable() bool {
	return e.HasID && e.Kind.IsRequest()
}

// Error names the message, the field, and the problem.
func (e *DecodeError) Error() string {
	text := "protocol: decode"
	if e.Kind != 0 {
		text += " " + e.Kind.String()
	}
	if e.HasID {
		text += " " + strconv.FormatUint(e.ID, 10)
	}
	if e.Field != "" {
		text += ": " + e.Field
	}
	return text + ": " + e.Problem
}

// Status is the status in a host's answer to the unreadable request.
func (e *DecodeError) Status() Status {
	if e.UnknownKind {
		return StatusUnsupported
	}
	return StatusBadRequest
}

// Result is the answer to the unreadable request, naming the field and the problem.
func (e *DecodeError) Result() Result {
	text := e.Problem
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	return Result{Status: e.Status(), Message: text}
}

// Is makes errors.Is match the status's sentinel.
func (e *DecodeError) Is(target error) bool {
	return e.Status().is(target)
}

// within prefixes the invalid field with the containing field's name.
func (e *DecodeError) within(field string) {
	if e.Field != "" && field != "" {
		field += "."
	}
	e.Field = field + e.Field
}
