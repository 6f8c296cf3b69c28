package protocol

// Request is one message from a client, as a host reads it: the field that Kind names is filled, the
// others hold what they held before.
type Request struct {
	Kind Kind
	ID   uint64

	Hello             Hello
	Ping              Ping
	Routing           Routing
	HostStatus        HostStatus
	NodeCreate        NodeCreate
	NodeDescribe      NodeDescribe
	NodeAlter         NodeAlter
	NodeDrop          NodeDrop
	NodeList          NodeList
	SessionStart      SessionStart
	SessionAttach     SessionAttach
	SessionBind       SessionBind
	SessionStop       SessionStop
	SessionDestroy    SessionDestroy
	SessionDescribe   SessionDescribe
	SessionList       SessionList
	SessionHoldings   SessionHoldings
	SemaphoreCreate   SemaphoreCreate
	SemaphoreUpdate   SemaphoreUpdate
	SemaphoreDelete   SemaphoreDelete
	Acquire           Acquire
	Release           Release
	SemaphoreDescribe SemaphoreDescribe
	SemaphoreList     SemaphoreList
	SemaphoreResize   SemaphoreResize
	Watch             Watch
	WatchStop         WatchStop
}

// Message returns a pointer to the field that Kind names, or nil where the kind is not known.
func (r *Request) Message() RequestMessage {
	if r.Kind > maxRequest2 {
		return nil
	}
	message := requestTable[r.Kind].request
	if message == nil {
		return nil
	}
	return message(r)
}

// RequestDecoder reads what clients send. It is meant to be kept, one for each goroutine that decodes:
// decoding allocates nothing.
type RequestDecoder struct {
	codec   *codec
	request Request
}

// NewRequestDecoder returns a decoder that refuses longer data than dataBytes, which is at most
// MaxDataBytes.
func NewRequestDecoder(dataBytes uint64) *RequestDecoder {
	d := &RequestDecoder{codec: newCodec()}
	d.codec.dataMax = min(dataBytes, MaxDataBytes)
	return d
}

// Decode reads the payload of one frame. The request is the decoder's own and is valid until the next
// call; the texts and bytes in it are views into the payload, to be copied by who keeps them. An error is
// always a *DecodeError, and tells the kind and the id where they could be read.
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
