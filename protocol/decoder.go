package protocol

import "strconv"

// Message returns a pointer to the field that Kind names, or nil where the kind is not known.
func (r *Request) Message() RequestMessage {
	if row := requestOf(r.Kind); row != nil {
		return row.request(r)
	}
	return nil
}

// RequestDecoder reads what clients send. It is meant to be kept, one for each goroutine that decodes:
// decoding allocates nothing.
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

// Decode reads the payload of one frame. The request is the decoder's own and is valid until the next
// call; the texts and bytes in it are views into the payload, to be copied by who keeps them. An error is
// always a *DecodeError, with the kind and the id where they could be read.
func (d *RequestDecoder) Decode(payload []byte) (*Request, error) {
	c := d.codec
	r := &d.request
	r.Kind, r.ID = c.open(payload)
	if c.opened {
		if m := r.Message(); m == nil && !r.Kind.IsRequest() {
			c.fail("kind", "not that of a request")
		} else if m == nil {
			c.failKind()
		} else if r.ID == 0 {
			c.fail("request_id", "0, which belongs to pushes")
		} else {
			m.requestFields(c)
		}
	}
	if err := c.close(r.Kind, r.ID); err != nil {
		return nil, err
	}
	return r, nil
}

// Message returns a pointer to the field that Kind names if that is the answer to a request, or nil.
func (a *Answer) Message() AnswerMessage {
	if row := requestOf(a.Kind - AnswerOffset); row != nil {
		return row.answer(a)
	}
	return nil
}

// Push returns a pointer to the field that Kind names if that is a push, or nil.
func (a *Answer) Push() PushMessage {
	if row := pushOf(a.Kind); row != nil {
		return row.push(a)
	}
	return nil
}

// AnswerDecoder reads what hosts send. It is meant to be kept, one for each goroutine that decodes:
// decoding allocates nothing but the strings of failures.
type AnswerDecoder struct {
	codec  *codec
	answer Answer
}

// NewAnswerDecoder returns a decoder.
func NewAnswerDecoder() *AnswerDecoder {
	return &AnswerDecoder{codec: newCodec()}
}

// Decode reads the payload of one frame. The answer is the decoder's own and is valid until the next
// call; the texts, bytes and lists in it are views into the payload, to be copied by who keeps them,
// except for those of a Result. An error is always a *DecodeError. One whose UnknownKind is set is of a message
// that is not known here: a client ignores it, unless it is an answer and its id is that of an open request.
// The refusal of a request can be read whatever the request's kind.
func (d *AnswerDecoder) Decode(payload []byte) (*Answer, error) {
	c := d.codec
	a := &d.answer
	a.Kind, a.ID = c.open(payload)
	a.Result = Result{}
	if c.opened {
		if m := a.Message(); m != nil {
			c.result(&a.Result)
			m.answerFields(c)
		} else if m := a.Push(); m != nil {
			m.pushFields(c)
		} else if a.Kind.IsAnswer() {
			d.unknownAnswer()
		} else {
			c.failKind()
		}
	}
	if err := c.close(a.Kind, a.ID); err != nil {
		return nil, err
	}
	return a, nil
}

// unknownAnswer reads the answer to a request that is not known here. Every answer begins with its outcome, and a
// refusal has nothing behind it, so a refusal can be read.
func (d *AnswerDecoder) unknownAnswer() {
	d.codec.result(&d.answer.Result)
	if d.codec.err == nil && d.answer.Result.Status == StatusSuccess {
		d.codec.failKind()
	}
}

// Every message is an array that begins with its kind and the id of the request that it belongs to.

// open reads the head of a message. Its fields come next.
func (c *codec) open(payload []byte) (kind Kind, id uint64) {
	c.startReading(payload)
	n := c.arrayLen("")
	if c.err == nil && n < 2 {
		c.fail("", "an array of "+strconv.Itoa(n)+" items, where a kind and a request id come first")
	}
	if c.err != nil {
		return 0, 0
	}
	c.left = n
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

// failKind says that it is not known here what fields follow.
func (c *codec) failKind() {
	c.fail("kind", "not known here")
	c.err.UnknownKind = true
}

// close skips the fields that are not known here, sees that nothing follows the message, and returns what
// was found wrong with all of it.
func (c *codec) close(kind Kind, id uint64) error {
	if c.err == nil {
		c.skip(c.left)
	}
	if c.err == nil && c.in.rest() > 0 {
		c.fail("", strconv.Itoa(c.in.rest())+" bytes behind the message")
	}
	if c.err == nil {
		return nil
	}
	c.err.Kind, c.err.ID, c.err.HasID = kind, id, c.opened && id != 0
	return c.err
}

// truncated is the problem of a value that goes on behind the end of the frame.
const truncated = "the frame ends in the middle of it"

// DecodeError says what is wrong with a frame's payload. Frames carry their own length, so the connection
// can go on behind a frame that could not be read; whether it should is the reader's choice.
type DecodeError struct {
	// Kind and ID are those of the message, as far as they could be read; HasID says whether they could.
	Kind  Kind
	ID    uint64
	HasID bool
	// Field is the path of the field that offends, such as "owners[2].data"; empty where it is the message as a whole.
	Field string
	// Problem says what offends.
	Problem string
	// UnknownKind: nothing is wrong with the frame, but its kind is not known here. A client ignores
	// such a push; a host answers such a request with StatusUnsupported.
	UnknownKind bool
}

// Answerable says whether what could not be read was a request that can be answered: its id is known, and its kind
// has an answer.
func (e *DecodeError) Answerable() bool {
	return e.HasID && e.Kind.IsRequest()
}

// Error names the message, the field, and what is wrong with it.
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

// Status is what a host answers to a request that it could not read.
func (e *DecodeError) Status() Status {
	if e.UnknownKind {
		return StatusUnsupported
	}
	return StatusBadRequest
}

// Result is the answer to a request that could not be read, naming the field and the problem.
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

// within puts the name of the field that holds the offending one in front of it.
func (e *DecodeError) within(field string) {
	if e.Field != "" && field != "" {
		field += "."
	}
	e.Field = field + e.Field
}
