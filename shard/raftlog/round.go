package raftlog

import (
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/signalbox/signalbox/shard"
)

// Barrier joins the next round.
func (l *Log) Barrier(done func(error)) error { return l.barriers.add(done) }

// askMajority runs one round of the engine.
//
// A request that is left behind stays with the engine, which may still use it. That includes one made
// while the shard is being stopped, of which the engine may never say a word.
func (l *Log) askMajority(limit time.Duration, abandon <-chan struct{}) error {
	request, err := l.host.engine.ReadIndex(l.shardID, l.host.config.BarrierTimeout)
	if err != nil {
		return err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var result dragonboat.RequestResult
	select {
	case result = <-request.AppliedC():
	case <-abandon:
		return errRoundAbandoned
	case <-timer.C:
		return errRoundTimeout
	case <-l.stop:
		return shard.ErrLogClosed
	}
	request.Release()
	switch {
	case result.Completed():
		return nil
	case result.Dropped():
		return errRoundDropped
	}
	return errRoundTimeout
}
