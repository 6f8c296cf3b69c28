package operation

import (
	"context"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
)

// shardAddRequest adds data shards.
type shardAddRequest struct {
	Count int `need:"true" about:"Number of data shards to add"`
	act
}

// AddedShards are the ids of added shards.
type AddedShards struct {
	Shards []uint64 `json:"shards" about:"Ids of the added shards"`
}

// shardRemoveRequest removes data shards.
type shardRemoveRequest struct {
	Shards []uint64 `need:"true" about:"Ids of the data shards to remove"`
	act
}

// shardWeightRequest sets a data shard's weight.
type shardWeightRequest struct {
	Shard  uint64 `need:"true" about:"Data shard id" arg:"SHARD" form:"the number of a data shard"`
	Weight int    `need:"true" about:"Share of the slots, relative to the weights of other shards: 0 to 1000" arg:"WEIGHT" form:"a weight from 0 to 1000"`
	act
}

// rebalanceRequest gives an order about rebalancing.
type rebalanceRequest struct {
	Action string `need:"true" about:"pause, resume, now (resume, and ignore pacing), or cancel (pause, and refuse the moves in progress)"`
	act
}

// run gives the order.
func (r *rebalanceRequest) run(ctx context.Context, a *admin.Admin) (changed bool, err error) {
	for action := admin.RebalanceResume; action <= admin.RebalanceCancel; action++ {
		if r.Action == strings.ToLower(action.String()) {
			return a.Rebalance(ctx, action, r.by())
		}
	}
	return false, BadRequest("action must be pause, resume, now or cancel")
}

// shards are the operations on data shards at run time, and on rebalancing.
func shards() []Operation {
	return group("Shards",
		change("/shard/add", protocol.KindShardUpdate, "Adds data shards",
			func(ctx context.Context, c *client.Client, q *shardAddRequest) (*AddedShards, error) {
				ids, err := admin.New(c).AddShards(ctx, q.Count, q.by())
				return &AddedShards{ids}, err
			}),
		govern("/shard/remove", protocol.KindShardUpdate,
			"Removes data shards once their slots have moved to other shards",
			func(ctx context.Context, a *admin.Admin, q *shardRemoveRequest) (bool, error) {
				return a.RemoveShards(ctx, q.Shards, q.by())
			}),
		govern("/shard/weight", protocol.KindShardUpdate, "Sets a data shard's share of the slots",
			func(ctx context.Context, a *admin.Admin, q *shardWeightRequest) (bool, error) {
				return a.SetShardWeight(ctx, q.Shard, q.Weight, q.by())
			},
			Face{
				Use: "shard weight SHARD WEIGHT", Short: "Set a data shard's share of the slots",
				Long: `Sets a data shard's weight, from 0 to 1000. The default is 100. Each shard gets slots in
proportion to its weight: a shard with 200 gets twice as many slots as a shard with 100,
and a shard with 0 gives its slots away. The governor then moves slots between shards;
signalbox cluster rebalance shows the progress.`,
				Example: `  signalbox shard weight 3 50 --reason "its hosts are slow"`,
				Done:    "shard SHARD has weight WEIGHT",
			}),
		read("/rebalance", protocol.KindRebalanceDescribe,
			"Describes the weight and the number of slots of each data shard, and the remaining moves",
			func(ctx context.Context, c *client.Client, _ *None) (*admin.Rebalancing, error) {
				return admin.New(c).Rebalancing(ctx)
			}),
		govern("/cluster/rebalance", protocol.KindRebalance, "Pauses, resumes or cancels rebalancing",
			func(ctx context.Context, a *admin.Admin, q *rebalanceRequest) (bool, error) { return q.run(ctx, a) }),
	)
}
