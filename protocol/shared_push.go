package protocol

import (
	"github.com/valyala/bytebufferpool"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

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
