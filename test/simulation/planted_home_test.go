package simulation_test

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/simulation"
)

// alteredCalls are a host's peer calls with a bug in calls about sessions.
type alteredCalls struct {
	executor.Calls
	alter func(request, answer map[string]json.RawMessage)
}

// Call implements executor.Calls.
func (a alteredCalls) Call(ctx context.Context, to shard.HostID, request []byte) ([]byte, error) {
	if !replica.IsHomeCall(request) {
		return a.Calls.Call(ctx, to, request)
	}
	var asked map[string]map[string]json.RawMessage
	if err := json.Unmarshal(request, &asked); err != nil {
		panic(err)
	}
	a.alter(asked["home"], nil)
	request, err := json.Marshal(asked)
	if err != nil {
		panic(err)
	}
	payload, err := a.Calls.Call(ctx, to, request)
	if err != nil {
		return nil, err
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(payload, &answer); err != nil {
		panic(err)
	}
	a.alter(asked["home"], answer)
	return json.Marshal(answer)
}

// ofHomes alters session calls between hosts: the request if answer is nil, otherwise the answer.
func ofHomes(alter func(request, answer map[string]json.RawMessage)) func() *simulation.Bug {
	return func() *simulation.Bug {
		return &simulation.Bug{Config: func(c *server.Config) { c.Calls = alteredCalls{c.Calls, alter} }}
	}
}

// noRemotesKnown: a host receives neither end notifications nor answers about its remote sessions.
func noRemotesKnown(request, answer map[string]json.RawMessage) {
	if answer == nil {
		delete(request, "ended")
		return
	}
	changeLiveness(answer, shard.Dead, shard.Alive)
}

// livingRemotesOver: a living session is called over.
func livingRemotesOver(_, answer map[string]json.RawMessage) {
	changeLiveness(answer, shard.Alive, shard.Dead)
}

func changeLiveness(answer map[string]json.RawMessage, from, to shard.Liveness) {
	var list []byte
	if answer["liveness"] == nil {
		return
	}
	if err := json.Unmarshal(answer["liveness"], &list); err != nil {
		panic(err)
	}
	answer["liveness"], _ = json.Marshal(bytes.ReplaceAll(list, []byte{byte(from)}, []byte{byte(to)}))
}
