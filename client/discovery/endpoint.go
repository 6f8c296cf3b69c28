package discovery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/signalbox/signalbox/client"
)

// Endpoint is where a service is to be found.
type Endpoint struct {
	// Address is the address that callers connect to. It must not be empty, nor begin with a brace.
	Address string `json:"address"`
	// Metadata has everything that callers may want to know before connecting: a zone, a weight, a version. All
	// readers share the map, and it must not be changed.
	Metadata map[string]string `json:"metadata,omitempty"`

	// OrderID and SessionID distinguish the registration from all other registrations, even of an equal address.
	// Readers get both; Register and Update take no notice of them.
	OrderID   uint64 `json:"-"`
	SessionID uint64 `json:"-"`
}

// encode returns the form of the endpoint that is published.
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

// decode reads the data of an owner. ok is false if the data is no endpoint.
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

// same reports whether two endpoints of one registration are equal.
func (e Endpoint) same(f Endpoint) bool {
	return e.Address == f.Address && maps.Equal(e.Metadata, f.Metadata)
}

func byOrder(a, b Endpoint) int { return cmp.Compare(a.OrderID, b.OrderID) }
