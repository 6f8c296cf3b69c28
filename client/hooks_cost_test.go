package client

import "testing"

func TestWithoutHooksAnOperationAllocatesNothingMore(t *testing.T) {
	c := &Client{}
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		inside, op := c.begin(ctx, OpAcquire, "/jobs", "slots")
		op.endAcquire(true, nil)
		op.end(inside.Err())
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAnOperationWithoutHooks(b *testing.B) {
	c := &Client{}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		_, op := c.begin(ctx, OpAcquire, "/jobs", "slots")
		op.endAcquire(true, nil)
	}
}
