package discovery

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client"
)

func TestAnEndpointIsReadAsItWasWritten(t *testing.T) {
	for text, e := range map[string]Endpoint{
		"10.0.0.7:80": {Address: "10.0.0.7:80"},
		`{"address":"a:1","metadata":{"zone":"b","{":"}"}}`: {Address: "a:1", Metadata: map[string]string{"zone": "b", "{": "}"}},
	} {
		data, err := e.encode()
		if err != nil || string(data) != text {
			t.Errorf("%+v is written as %s, %v", e, data, err)
		}
		e.OrderID, e.SessionID = 3, 4
		if got, ok := decode(&client.Owner{OrderID: 3, SessionID: 4, Data: data}); !ok || !reflect.DeepEqual(got, e) {
			t.Errorf("%s is read as %+v, %v", data, got, ok)
		}
	}
}

func TestWhatIsNoEndpointIsNotPublished(t *testing.T) {
	for _, address := range []string{"", "{a"} {
		if _, err := (Endpoint{Address: address}).encode(); !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestWhatIsNoEndpointIsNotRead(t *testing.T) {
	for _, data := range []string{"", "{", "{}", `{"address":""}`, `{"address":1}`, `{"address":"a"}x`} {
		if e, ok := decode(&client.Owner{Data: []byte(data)}); ok {
			t.Errorf("%q is read as %+v", data, e)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("a:1"))
	f.Add([]byte(`{"address":"a","metadata":{"x":"y"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, ok := decode(&client.Owner{Data: data})
		if !ok || strings.HasPrefix(e.Address, "{") {
			return
		}
		again, err := e.encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, ok := decode(&client.Owner{Data: again}); !ok || len(e.Metadata) == 0 && back.Address != e.Address {
			t.Errorf("%q was read as %+v, written as %q and read as %+v, %v", data, e, again, back, ok)
		}
	})
}
