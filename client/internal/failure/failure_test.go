package failure_test

import (
	"errors"
	"testing"

	"github.com/signalbox/signalbox/client/internal/failure"
)

func TestNothingIsSaidTwice(t *testing.T) {
	cause := errors.New("the node does not exist")
	inner := failure.Of("client", "watch", `"api"`, cause)
	for _, c := range []struct {
		err  error
		want string
	}{
		{inner, `client: watch "api": the node does not exist`},
		{failure.Of("client", "status", "", cause), `client: status: the node does not exist`},
		{failure.Of("discovery", "watch", `"api"`, inner), `discovery: watch "api": the node does not exist`},
		{failure.Of("discovery", "register in", `"api"`, inner), `discovery: register in "api": client: watch "api": the node does not exist`},
		{failure.Of("discovery", "watch", `"other"`, inner), `discovery: watch "other": client: watch "api": the node does not exist`},
	} {
		if c.err.Error() != c.want {
			t.Errorf("got  %s\nwant %s", c.err, c.want)
		}
		if !errors.Is(c.err, cause) {
			t.Errorf("%s has lost its cause", c.err)
		}
	}
	if err := failure.Of("client", "watch", "", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}
