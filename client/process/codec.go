package process

import (
	"encoding/json"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/signalbox/signalbox/client/internal/failure"
)

// Codec encodes member messages. All members in a process need the same codec.
type Codec interface {
	Marshal(v any) ([]byte, error)
	Unmarshal(data []byte, v any) error
}

// Built-in codecs. Raw passes bytes and text unchanged: it encodes []byte and string, and decodes into pointers to
// either.
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

// encode encodes a value; nil becomes empty.
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

// Payload is the content of a request, reply or result.
type Payload struct {
	data  []byte
	codec Codec
}

// Bytes returns the raw payload. The bytes are shared and must not be changed.
func (p *Payload) Bytes() []byte { return p.data }

// Decode decodes the payload into the value that v points to, with the member's codec. An empty payload, which
// represents nil, does not change v.
func (p *Payload) Decode(v any) error {
	if len(p.data) == 0 {
		return nil
	}
	return p.codec.Unmarshal(p.data, v)
}
