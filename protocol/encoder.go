package protocol

import (
	"encoding/binary"
	"unsafe"

	"github.com/valyala/bytebufferpool"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// RequestMessage is a message from a client to a host.
type RequestMessage interface {
	// Kind returns the kind of the message.
	Kind() Kind
	requestFields(c *codec)
}

// AnswerMessage is a host's answer to a successful request.
type AnswerMessage interface {
	// Kind returns the kind of the message.
	Kind() Kind
	answerFields(c *codec)
}

// PushMessage is a message a host sends unasked, or as a request's later outcome.
type PushMessage interface {
	// Kind returns the kind of the message.
	Kind() Kind
	pushFields(c *codec)
}

// Encoder appends messages, as whole frames, to buffers. An Encoder is meant to be kept: encoding allocates only if the
// buffer grows. Messages are only read, but the compiler cannot see that, and moves a message to the heap; a caller
// that reuses one variable allocates nothing for messages either.
//
// An Encoder does not enforce the limits in force, because the peer refuses larger messages. A client checks data
// against the limits in the Welcome before sending, because a host closes the connection over a frame that is too
// large.
//
// An Encoder is not safe for concurrent use.
type Encoder struct {
	codec  *codec
	pushes KindSet // second-block pushes the client understands
}

// NewEncoder returns an Encoder.
func NewEncoder() *Encoder {
	return &Encoder{codec: newCodec()}
}

// Request appends a request. The client chooses the id: not 0, and not the id of an unanswered request on the
// connection, a waiting acquire, or an open watch.
func (e *Encoder) Request(buf *bytebufferpool.ByteBuffer, id uint64, m RequestMessage) {
	start := e.open(buf, m.Kind(), id)
	m.requestFields(e.codec)
	e.close(buf, start)
}

// Answer appends the answer to a successful request.
func (e *Encoder) Answer(buf *bytebufferpool.ByteBuffer, id uint64, m AnswerMessage) {
	start := e.open(buf, m.Kind(), id)
	c := e.codec
	c.out.B = append(c.out.B, success...)
	c.array.fields += len(success)
	m.answerFields(c)
	e.close(buf, start)
}

// Failure appends the answer to a refused or failed request, whether its kind is known or not. The kind must be a
// request kind, because only requests have answers.
func (e *Encoder) Failure(buf *bytebufferpool.ByteBuffer, id uint64, request Kind, result *Result) {
	start := e.open(buf, request.Answer(), id)
	e.codec.result(result)
	e.close(buf, start)
}

// Understands sets the second-block pushes this encoder's client understands. Other pushes from that block are not
// appended; before the first call, none are.
func (e *Encoder) Understands(pushes KindSet) {
	e.pushes = pushes
}

// Push appends a push, if the client understands its kind. The id is the push's request id, or 0.
func (e *Encoder) Push(buf *bytebufferpool.ByteBuffer, id uint64, m PushMessage) {
	if !e.pushes.Allows(m.Kind()) {
		return
	}
	start := e.open(buf, m.Kind(), id)
	m.pushFields(e.codec)
	e.close(buf, start)
}

// open begins a frame at the end of the buffer, and its message's array.
func (e *Encoder) open(buf *bytebufferpool.ByteBuffer, kind Kind, id uint64) (start int) {
	c := e.codec
	start = len(buf.B)
	c.writing, c.array = true, openArray{start: start + FrameHeaderBytes}
	c.out.B = append(append(buf.B, make([]byte, FrameHeaderBytes)...), msgpcode.FixedArrayLow)
	number := uint64(kind)
	c.uint("kind", &number)
	c.uint("request_id", &id)
	c.array.kept, c.array.end = c.array.fields, len(c.out.B) // both stay, zero or not
	return start
}

// close ends the array, and fills in the frame length. The codec does not keep the buffer.
func (e *Encoder) close(buf *bytebufferpool.ByteBuffer, start int) {
	c := e.codec
	c.closeArray()
	buf.B, c.out.B = c.out.B, nil
	binary.BigEndian.PutUint32(buf.B[start:], uint32(len(buf.B)-start-FrameHeaderBytes))
}

// View returns a string's bytes without a copy, for a message field to be sent. The caller must not modify the bytes.
func View(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// Text returns bytes in a message as a string without a copy. The string is valid as long as the bytes.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// SharedPush is a push as the answer to many requests. The fields are encoded once, and only the head is written for
// each request. A SharedPush is immutable and safe for concurrent use.
type SharedPush struct {
	kind   Kind
	count  int
	fields []byte
}

// SharedPush encodes a push for many requests.
func (e *Encoder) SharedPush(m PushMessage) SharedPush {
	c := e.codec
	c.startWriting(nil)
	c.record("", m.pushFields)
	array := c.written()
	return SharedPush{
		kind:   m.Kind(),
		count:  int(array[0] & msgpcode.FixedArrayMask),
		fields: array[1:],
	}
}

// Size returns the maximum bytes the push takes in a frame, including the frame length.
func (p *SharedPush) Size() int {
	return FrameHeaderBytes + len(p.fields) + maxHeadBytes
}

// maxHeadBytes is the longest message head: its array, its kind, and its request id.
const maxHeadBytes = 1 + 3 + 9

// Push appends the push with a request's id, if the encoder's client understands its kind.
func (p *SharedPush) Push(e *Encoder, buf *bytebufferpool.ByteBuffer, id uint64) {
	if !e.pushes.Allows(p.kind) {
		return
	}
	start := e.open(buf, p.kind, id)
	c := e.codec
	c.out.B = append(c.out.B, p.fields...)
	c.array.fields += p.count
	c.array.kept, c.array.end = c.array.fields, len(c.out.B)
	e.close(buf, start)
}
