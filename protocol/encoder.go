package protocol

import (
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

// AnswerMessage is what a host answers to a request that it carried out.
type AnswerMessage interface {
	// Kind returns the kind of the message.
	Kind() Kind
	answerFields(c *codec)
}

// PushMessage is what a host sends unasked, or as the later outcome of a request.
type PushMessage interface {
	// Kind returns the kind of the message.
	Kind() Kind
	pushFields(c *codec)
}

// Encoder appends messages, as whole frames, to buffers. It is meant to be kept: encoding allocates
// nothing but what the buffer needs to grow. Messages are only read, but the compiler cannot see that;
// to allocate nothing for them either, use one variable many times.
//
// Nothing is compared with the limits in force: a peer refuses what is over them. A client compares data with the
// limits of the Welcome before it sends it, because a host closes the connection over a frame that is too large.
//
// An Encoder serves one goroutine at a time.
type Encoder struct {
	codec  *codec
	pushes KindSet // of the second block, that the client understands
}

// NewEncoder returns an Encoder.
func NewEncoder() *Encoder {
	return &Encoder{codec: newCodec()}
}

// Request appends a request. The id is the client's choice: not 0, and not that of another request that
// is unanswered on the connection, of an acquire that waits, or of an open watch.
func (e *Encoder) Request(buf *bytebufferpool.ByteBuffer, id uint64, m RequestMessage) {
	start := e.open(buf, m.Kind(), id)
	m.requestFields(e.codec)
	e.close(buf, start)
}

// Answer appends the answer to a request that was carried out.
func (e *Encoder) Answer(buf *bytebufferpool.ByteBuffer, id uint64, m AnswerMessage) {
	start := e.open(buf, m.Kind(), id)
	var success Result
	e.codec.result(&success)
	m.answerFields(e.codec)
	e.close(buf, start)
}

// Failure appends the answer to a request, of a kind known here or not, that was not carried out. The kind must be
// that of a request: no other has an answer.
func (e *Encoder) Failure(buf *bytebufferpool.ByteBuffer, id uint64, request Kind, result *Result) {
	start := e.open(buf, request.Answer(), id)
	e.codec.result(result)
	e.close(buf, start)
}

// Understands says which pushes of the second block of kinds the client understands that the frames are for. Others
// are not appended; until it is called, that is all of the block.
func (e *Encoder) Understands(pushes KindSet) {
	e.pushes = pushes
}

// Push appends a push, if it may be sent to the client. The id is that of the request it belongs to, or 0.
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
	c.startWriting(openFrame(buf.B))
	c.openArray()
	number := uint64(kind)
	c.uint("kind", &number)
	c.uint("request_id", &id)
	c.keepAll()
	return start
}

// close ends the array and the frame.
func (e *Encoder) close(buf *bytebufferpool.ByteBuffer, start int) {
	e.codec.closeArray(openArray{})
	buf.B = e.codec.written()
	closeFrame(buf.B, start)
}

// View returns the bytes of a string without a copy, for a field of a message that is to be sent.
// They must not be written to.
func View(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// Text returns bytes of a message as a string without a copy. It is good for as long as the bytes are.
func Text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// SharedPush is a push that many requests get: it is encoded once, and only its head is written for each
// of them. It may be used by many goroutines; it does not change.
type SharedPush struct {
	kind   Kind
	count  int
	fields []byte
}

// SharedPush encodes a push for many.
func (e *Encoder) SharedPush(m PushMessage) SharedPush {
	c := e.codec
	c.startWriting(nil)
	c.openArray()
	m.pushFields(c)
	c.closeArray(openArray{})
	array := c.written()
	return SharedPush{
		kind:   m.Kind(),
		count:  int(array[0] & msgpcode.FixedArrayMask),
		fields: array[1:],
	}
}

// Size returns how many bytes the push takes in a frame at the most, its length included.
func (p *SharedPush) Size() int {
	return FrameHeaderBytes + len(p.fields) + maxHeadBytes
}

// maxHeadBytes is the longest head of a message: its array, its kind, and its request id.
const maxHeadBytes = 1 + 3 + 9

// Push appends the push with the id of a request, if it may be sent to the client that the encoder is for.
func (p *SharedPush) Push(e *Encoder, buf *bytebufferpool.ByteBuffer, id uint64) {
	if !e.pushes.Allows(p.kind) {
		return
	}
	start := e.open(buf, p.kind, id)
	c := e.codec
	c.out.B = append(c.out.B, p.fields...)
	c.array.fields += p.count
	c.keepAll()
	e.close(buf, start)
}
