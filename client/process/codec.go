package process

import (
	"encoding/json"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/signalbox/signalbox/client/internal/failure"
)

// Codec turns the messages of members into bytes. All members of a process need the same codec.
type Codec interface {
	Marshal(v any) ([]byte, error)
	Unmarshal(data []byte, v any) error
}

// The codecs of the package. Raw passes bytes and texts on as they are: []byte and string, and pointers to either to
// read into.
var (
	MsgPack Codec = msgPack{}
	JSON    Codec = jsonCodec{}
	Raw     Codec = rawCodec{}
)

type msgPack struct{}

func (msgPack) Marshal(v any) ([]byte, error)      { return msgpack.Marshal(v) }
func (msgPack) Unmarshal(data []byte, v any) error { return msgpack.Unmarshal(data, v) }

type jsonCodec struct{}

func (jsonCodec) Marshal(v any) ([]byte, error)      { return json.Marshal(v) }
func (jsonCodec) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) {
	switch v := v.(type) {
	case []byte:
		return v, nil
	case string:
		return []byte(v), nil
	}
	return nil, fmt.Errorf("the codec Raw encodes []byte and string, not %T", v)
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	switch v := v.(type) {
	case *[]byte:
		*v = data
	case *string:
		*v = string(data)
	default:
		return fmt.Errorf("the codec Raw decodes into *[]byte and *string, not %T", v)
	}
	return nil
}

// encode returns the bytes of a value: no bytes for nil.
func encode(c Codec, v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	data, err := c.Marshal(v)
	if err != nil {
		return nil, failure.BadRequest(fmt.Sprintf("cannot encode a message: %v", err))
	}
	return data, nil
}

// Payload is the content of a request, a reply or a result.
type Payload struct {
	data  []byte
	codec Codec
}

// Bytes returns the payload as it came. The bytes are shared and must not be changed.
func (p *Payload) Bytes() []byte { return p.data }

// Decode reads the payload into the value that v points to, by the codec of the member. An empty payload, which nil is
// sent as, leaves v as it is.
func (p *Payload) Decode(v any) error {
	if len(p.data) == 0 {
		return nil
	}
	return p.codec.Unmarshal(p.data, v)
}
