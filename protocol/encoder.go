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

// AnswerMessage is the answer of a host to a request that was carried out.
type AnswerMessage interface {
	// Kind returns the kind of the message.
	Kind() Kind
	answerFields(c *codec)
}

// PushMessage is a message that a host sends unasked, or as the later outcome of a request.
type PushMessage interface {
	// Kind returns the kind of the message.
	Kind() Kind
	pushFields(c *codec)
}

// Encoder appends messages, as whole frames, to buffers. An Encoder is meant to be kept: encoding allocates nothing but
// the growth of the buffer. Messages are only read, but the compiler cannot see that, and moves a message to the heap;
// a caller that uses one variable many times allocates nothing for messages either.
//
// An Encoder compares nothing with the limits in force, because the peer refuses what is over a limit. A client
// compares data with the limits of the Welcome before sending, because a host closes the connection over a frame that
// is too large.
//
// An Encoder serves one goroutine at a time.
type Encoder struct {
	codec  *codec
	pushes KindSet // of the second block, understood by the client
}

// NewEncoder returns an Encoder.
func NewEncoder() *Encoder {
	return &Encoder{codec: newCodec()}
}

// Request appends a request. The client chooses the id: not 0, and not the id of an unanswered request of the
// connection, of a waiting acquire, or of an open watch.
func (e *Encoder) Request(buf *bytebufferpool.ByteBuffer, id uint64, m RequestMessage) {
	start := e.open(buf, m.Kind(), id)
	m.requestFields(e.codec)
	e.close(buf, start)
}

// Answer appends the answer to a request that was carried out.
func (e *Encoder) Answer(buf *bytebufferpool.ByteBuffer, id uint64, m AnswerMessage) {
	start := e.open(buf, m.Kind(), id)
	c := e.codec
	c.out.B = append(c.out.B, success...)
	c.array.fields += len(success)
	m.answerFields(c)
	e.close(buf, start)
}

// Failure appends the answer to a refused or failed request, of a known kind or not. The kind must be the kind of a
// request, because nothing else has an answer.
func (e *Encoder) Failure(buf *bytebufferpool.ByteBuffer, id uint64, request Kind, result *Result) {
	start := e.open(buf, request.Answer(), id)
	e.codec.result(result)
	e.close(buf, start)
}

// Understands sets the pushes of the second block of kinds that the client of this encoder understands. No other push
// of the block is appended; before the first call, no push of the block is.
func (e *Encoder) Understands(pushes KindSet) {
	e.pushes = pushes
}

// Push appends a push, if the client understands its kind. The id is the id of the push's request, or 0.
func (e *Encoder) Push(buf *bytebufferpool.ByteBuffer, id uint64, m PushMessage) {
	if !e.pushes.Allows(m.Kind()) {
		return
	}
	start := e.open(buf, m.Kind(), id)
	m.pushFields(e.codec)
	e.close(buf, start)
}

// open begins a frame at the end of the buffer, and the array of its message.
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

// close ends the array, and fills in the length of the frame. The codec does not keep the buffer.
func (e *Encoder) close(buf *bytebufferpool.ByteBuffer, start int) {
	c := e.codec
	c.closeArray()
	buf.B, c.out.B = c.out.B, nil
	binary.BigEndian.PutUint32(buf.B[start:], uint32(len(buf.B)-start-FrameHeaderBytes))
}

// View returns the bytes of a string without a copy, for a field of a message to send. The caller must not write to the
// bytes.
func View(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// Text returns bytes of a message as a string without a copy. The string is good for as long as the bytes are.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// SharedPush is a push as the answer to many requests. The fields are encoded once, and only the head is written for
// each request. A SharedPush does not change, so many goroutines may use it.
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

// Size returns the most bytes that the push takes in a frame, the length of the frame included.
func (p *SharedPush) Size() int {
	return FrameHeaderBytes + len(p.fields) + maxHeadBytes
}

// maxHeadBytes is the longest head of a message: its array, its kind, and its request id.
const maxHeadBytes = 1 + 3 + 9

// Push appends the push with the id of a request, if the client of the encoder understands its kind.
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
