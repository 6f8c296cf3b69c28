package ydb_test

import (
	"bytes"
	"context"
	"regexp"
	"strconv"
	"testing"
	"time"

	sdk "github.com/ydb-platform/ydb-go-sdk/v3"
)

// TestAnSDKInItsLoopIsHeldBack: for a missing node, ydb-go-sdk opens the next stream right after each failure, as long
// as its caller waits.
func TestAnSDKInItsLoopIsHeldBack(t *testing.T) {
	r := newRig(t, 1)
	db, err := sdk.Open(t.Context(), "grpc://"+r.address+database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	const seconds = 3
	ctx, cancel := context.WithTimeout(t.Context(), seconds*time.Second)
	defer cancel()
	began := time.Now()
	if _, err := db.Coordination().Session(ctx, database+"/missing"); err == nil {
		t.Fatal("a session in a missing node")
	}
	took := time.Since(began)
	if n := r.counted("signalbox_ydb_sessions_rejected_total"); n < 1 || n > 5*(took.Seconds()+1) {
		t.Errorf("%v streams in %v", n, took)
	}
}

// counted is the gateway's counter of a name.
func (r *rig) counted(name string) float64 {
	r.t.Helper()
	var out bytes.Buffer
	if err := r.gateway.WriteMetrics(&out); err != nil {
		r.t.Fatal(err)
	}
	m := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(name) + " (.*)$").FindSubmatch(out.Bytes())
	if m == nil {
		r.t.Fatalf("no %s in %s", name, out.String())
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}
