package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// FrameHeaderBytes is the size of the length in front of every frame's payload.
const FrameHeaderBytes = 4

var (
	// ErrFrameTooLarge: a frame announces more bytes than the limit in force. Only a reader of the whole frame would
	// find the start of the next frame, so the connection is closed.
	ErrFrameTooLarge = errors.New("frame too large")
	// ErrFrameEmpty: a frame announces no bytes. No message is that short, so the peer does not speak this protocol,
	// and the connection is closed.
	ErrFrameEmpty = errors.New("frame of no bytes")
)

// ScanFrame looks for one frame at the start of b, the bytes that a connection has received.
//
// Where the frame is complete, payload is its msgpack array, a view into b, and size is the number of bytes of b that
// the frame takes. Where the frame is incomplete, payload is nil and size is the number of bytes that b must have
// before the next scan is of use. ScanFrame compares the announced length with limit, the most bytes of a payload, as
// soon as the length has arrived: no caller needs room for more than FrameHeaderBytes+limit.
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

// RequestDecoder reads the messages of clients. A goroutine that decodes keeps a decoder of its own, because decoding
// then allocates nothing.
type RequestDecoder struct {
	codec   *codec
	request Request
}

// NewRequestDecoder returns a decoder that refuses longer data than dataBytes, which is at most MaxDataBytes.
func NewRequestDecoder(dataBytes uint64) *RequestDecoder {
	d := &RequestDecoder{codec: newCodec()}
	d.codec.dataMax = min(dataBytes, MaxDataBytes)
	return d
}

// Decode reads the payload of one frame. The request belongs to the decoder and is valid until the next call. Texts and
// bytes of the request are views into the payload, so a keeper of a text copies the text. An error is always a
// *DecodeError, with the kind and the id as far as Decode could read both.
func (d *RequestDecoder) Decode(payload []byte) (*Request, error) {
	c := d.codec
	r := &d.request
	r.Kind, r.ID = c.open(payload)
	if c.opened {
		if known := requestOf(r.Kind) != nil; !known && !r.Kind.IsRequest() {
			c.fail("kind", "not that of a request")
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

// Message returns a pointer to the field that Kind names if Kind is the kind of an answer to a request, or nil.
func (a *Answer) Message() AnswerMessage {
	if request := a.Kind - AnswerOffset; requestOf(request) != nil {
		return requestPlaces[request].answer(a)
	}
	return nil
}

// Push returns a pointer to the field that Kind names if Kind is the kind of a push, or nil.
func (a *Answer) Push() PushMessage {
	if isPush(a.Kind) {
		return pushPlaces[a.Kind-minPush1](a)
	}
	return nil
}

// AnswerDecoder reads the messages of hosts. A goroutine that decodes keeps a decoder of its own, because decoding then
// allocates nothing but the strings of failures.
type AnswerDecoder struct {
	codec  *codec
	answer Answer
}

// NewAnswerDecoder returns a decoder.
func NewAnswerDecoder() *AnswerDecoder {
	return &AnswerDecoder{codec: newCodec()}
}

// Decode reads the payload of one frame. The answer belongs to the decoder and is valid until the next call. Texts,
// bytes and lists of the answer are views into the payload, so a keeper copies; only the strings of a Result are copies
// already. An error is always a *DecodeError. An error with UnknownKind stands for a message of an unknown kind: a
// client ignores the message, unless the message is an answer with the id of an open request. Decode can read the
// refusal of any request, even of an unknown kind.
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

// unknownAnswer reads the answer to a request of an unknown kind. Every answer begins with its outcome, and a refusal
// has nothing behind the outcome, so unknownAnswer can read a refusal.
func (d *AnswerDecoder) unknownAnswer() {
	d.codec.result(&d.answer.Result)
	if d.codec.err == nil && d.answer.Result.Status == StatusSuccess {
		d.codec.failKind()
	}
}

// Every message is an array that begins with the kind and the id of the message's request.

// open reads the head of a message. The fields of the message come next.
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

// failKind reports that the fields of the message are unknown.
func (c *codec) failKind() {
	c.fail("kind", "not known here")
	c.err.UnknownKind = true
}

// close skips the unknown fields at the end, checks that nothing follows the message, and returns the error of the
// whole message. A message of this version without a fault needs no close: it ends with its last field.
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

// truncated is the problem of a value that goes on behind the end of the frame.
const truncated = "the frame ends in the middle of it"

// DecodeError says what is wrong with a frame's payload. A frame has its own length, so the connection can go on behind
// an unreadable frame; the reader decides whether the connection goes on.
type DecodeError struct {
	// Kind and ID are the kind and the id of the message, as far as the decoder could read both; HasID says whether the
	// id could be read.
	Kind  Kind
	ID    uint64
	HasID bool
	// Field is the path of the offending field, such as "owners[2].data"; empty where the message as a whole offends.
	Field string
	// Problem says how the field offends.
	Problem string
	// UnknownKind: the frame is sound, but the kind of the message is unknown here. A client ignores a push of an
	// unknown kind; a host answers a request of an unknown kind with StatusUnsupported.
	UnknownKind bool
}

// Answerable says whether the unreadable message was a request that can be answered: the id is known, and the kind has
// an answer.
func (e *DecodeError) Answerable() bool {
	return e.HasID && e.Kind.IsRequest()
}

// Error names the message, the field, and the problem of the field.
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

// Status is the status of a host's answer to the unreadable request.
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

// Is makes errors.Is see the sentinel of the status.
func (e *DecodeError) Is(target error) bool {
	return e.Status().is(target)
}

// within puts the name of the holding field in front of the offending field.
func (e *DecodeError) within(field string) {
	if e.Field != "" && field != "" {
		field += "."
	}
	e.Field = field + e.Field
}
