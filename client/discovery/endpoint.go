package discovery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/signalbox/signalbox/client"
)

// Endpoint is a service address with optional metadata.
type Endpoint struct {
	// Address is the address for callers to connect to. It must not be empty or start with a brace.
	Address string `json:"address"`
	// Metadata is information for callers before they connect, such as zone, weight or version. All readers share the
	// map, so it must not be changed.
	Metadata map[string]string `json:"metadata,omitempty"`

	// OrderID and SessionID identify the registration, even among registrations with equal addresses. Readers get both;
	// Register and Update ignore them.
	OrderID   uint64 `json:"-"`
	SessionID uint64 `json:"-"`
}

// encode returns the published form.
func (e Endpoint) encode() ([]byte, error) {
	switch {
	case e.Address == "":
		return nil, fmt.Errorf("%w: an endpoint needs an address", client.ErrBadRequest)
	case e.Address[0] == '{':
		return nil, fmt.Errorf("%w: the address %q must not begin with a brace",
			client.ErrBadRequest, e.Address)
	case len(e.Metadata) == 0:
		return []byte(e.Address), nil
	}
	return json.Marshal(e)
}

// decode decodes an owner's data. ok is false if the data is not a valid endpoint.
func decode(o *client.Owner) (e Endpoint, ok bool) {
	if len(o.Data) > 0 && o.Data[0] == '{' {
		if json.Unmarshal(o.Data, &e) != nil {
			return Endpoint{}, false
		}
	} else {
		e.Address = string(o.Data)
	}
	e.OrderID, e.SessionID = o.OrderID, o.SessionID
	return e, e.Address != ""
}

// same reports whether two endpoints from one registration are equal.
func (e Endpoint) same(f Endpoint) bool {
	return e.Address == f.Address && maps.Equal(e.Metadata, f.Metadata)
}

func byOrder(a, b Endpoint) int { return cmp.Compare(a.OrderID, b.OrderID) }
