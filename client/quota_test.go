package client

import (
	"errors"
	"fmt"
	"testing"

	"github.com/signalbox/signalbox/protocol"
)

func TestAQuotaIsFoundInTheErrorOfItsRefusal(t *testing.T) {
	refusal := func(r protocol.Result) error { return failedName("create", "a", fmt.Errorf("again: %w", r.Err())) }
	full := protocol.Result{
		Status: protocol.StatusQuotaExceeded,
		Quota:  protocol.Quota{Kind: protocol.QuotaNodeBytes, Limit: 100, Used: 99},
	}
	err := refusal(full)
	if q, ok := QuotaOf(err); !ok || q != (Quota{QuotaNodeBytes, 100, 99}) || !errors.Is(err, ErrQuotaExceeded) {
		t.Errorf("%v: %+v, %v", err, q, ok)
	}
	for _, err := range []error{
		nil, errors.New("else"), refusal(protocol.Result{Status: protocol.StatusNotFound}),
		refusal(protocol.Result{Status: protocol.StatusQuotaExceeded}),
	} {
		if q, ok := QuotaOf(err); ok {
			t.Errorf("%v: %+v", err, q)
		}
	}
	for kind, want := range map[QuotaKind]string{
		QuotaNodeObjects: "objects of the node", QuotaNodeBytes: "bytes of the node",
		QuotaShardObjects: "objects of the shard", QuotaShardBytes: "bytes of the shard", 9: "quota 9",
	} {
		if got := kind.String(); got != want {
			t.Errorf("%d is %q, want %q", int(kind), got, want)
		}
	}
}

// TestAHostThatPassesOverQuotasIsNoticed: an older host answers SUCCESS, but has set no quotas.
func TestAHostThatPassesOverQuotasIsNoticed(t *testing.T) {
	for _, c := range []struct {
		asked, has NodeConfig
		noticed    bool
	}{
		{NodeConfig{}, NodeConfig{QuotaBytes: 1 << 20}, false},
		{NodeConfig{QuotaObjects: 5}, NodeConfig{QuotaObjects: 5, QuotaBytes: 1 << 20}, false},
		{NodeConfig{QuotaObjects: 5}, NodeConfig{}, true},
		{NodeConfig{QuotaBytes: 1 << 20}, NodeConfig{QuotaObjects: 5}, true},
	} {
		err := c.asked.checkLater(&NodeInfo{Config: c.has})
		if (err != nil) != c.noticed || err != nil && !errors.Is(err, ErrUnsupported) {
			t.Errorf("asked %+v, has %+v: %v", c.asked, c.has, err)
		}
	}
}
