// Package node implements the commands for nodes and their configs. Start at Command.
package node

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/shard/meta"
)

// Command returns the commands about nodes.
func Command(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "node",
		Short: "Nodes (namespaces): create, describe, alter, drop, list",
		Long: `A node is a namespace with a path, such as /prod/jobs. Sessions and semaphores belong to
one node, and nodes are independent. The node's config sets the behaviour of sessions
and reads. Use few nodes, for example one per application.`,
	}, newCreate(f), newDescribe(f), newAlter(f), newList(f)))
}

// orDefault formats a config field for tables.
func orDefault[T comparable](value, fallback T) string {
	var unset T
	if value == unset {
		return fmt.Sprintf("%v (default)", fallback)
	}
	return fmt.Sprint(value)
}

// printNode prints a node that was read or changed, and passes on an error.
func printNode(f *cli.Frame, n *client.NodeInfo, err error) error {
	if err != nil {
		return err
	}
	return f.Show(n, cli.Fields("path", n.Path, "id", n.ID, "config version", n.ConfigVersion,
		"self-check period", orDefault(n.Config.SelfCheckPeriod, defaultSelfCheck),
		"session grace period", orDefault(n.Config.SessionGracePeriod, defaultGrace),
		"read consistency", orDefault(n.Config.ReadConsistency, defaultReads),
		"attach consistency", orDefault(n.Config.AttachConsistency, defaultAttaches),
		"counters", orDefault(n.Config.MetricsLevel, defaultCounters),
		"quota of objects", orDefault(n.Config.QuotaObjects, meta.DefaultQuotaObjects),
		"quota of bytes", orDefault(settings.Size(n.Config.QuotaBytes), meta.DefaultQuotaBytes),
		"longest wait", longestWait(n.Config.LongWaitThreshold)))
}

// longestWait formats the wait time above which a wait is a health issue.
func longestWait(d time.Duration) string {
	if d < 0 {
		return "not bounded"
	}
	return orDefault(d, meta.DefaultLongestWaitMillis*time.Millisecond)
}

// The hosts' defaults for config fields that are not given.
const (
	defaultSelfCheck = meta.DefaultSelfCheckPeriodMillis * time.Millisecond
	defaultGrace     = meta.DefaultSessionGracePeriodMillis * time.Millisecond
	defaultReads     = client.Consistency(meta.DefaultReadConsistency)
	defaultAttaches  = client.Consistency(meta.DefaultAttachConsistency)
	defaultCounters  = client.MetricsLevel(meta.DefaultRateLimiterCountersMode)
)

// nodeFlags are the flags for a node's config.
type nodeFlags struct {
	selfCheck, grace       time.Duration
	read, attach, counters string
	objects                uint64
	bytes                  cli.SizeFlag
	wait                   time.Duration
}

func (n *nodeFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.DurationVar(&n.selfCheck, "self-check-period", 0, "Interval at which a leader confirms its leadership, "+
		"`DURATION` from 500ms to 10s. Default for a new node: 1s")
	flags.DurationVar(&n.grace, "session-grace-period", 0, "Time added to session timeouts when a leader changes, "+
		"`DURATION` from 1s to 30s, above the self-check period. Default for a new node: 10s")
	flags.StringVar(&n.read, "read-consistency", "", "Default read `MODE`: strict or relaxed. Default for a new "+
		"node: relaxed")
	flags.StringVar(&n.attach, "attach-consistency", "", "Session attach `MODE`: strict or relaxed. Default for "+
		"a new node: strict")
	flags.StringVar(&n.counters, "metrics-level", "", "Detail `LEVEL` for semaphore metrics: aggregated, or "+
		"detailed with owners. Default for a new node: aggregated")
	flags.Uint64Var(&n.objects, "quota-objects", 0, "Maximum number of semaphores per shard, `NUMBER` up to "+
		"1000000. Default for a new node: 1000000")
	flags.Var(&n.bytes, "quota-bytes", "Maximum memory for semaphores and sessions per shard, `SIZE` from 1MiB "+
		"to 1TiB. Default for a new node: 1GiB")
	flags.DurationVar(&n.wait, "long-wait-threshold", 0, "Waiting time above which signalbox check reports a health "+
		"issue for a semaphore, `DURATION` up to 720h. Below zero: never. Default: "+
		strconv.Itoa(health.DefaultLongWaitMinutes)+"m, as information only")
	consistency := cobra.FixedCompletions([]string{"strict", "relaxed"}, cobra.ShellCompDirectiveNoFileComp)
	_ = c.RegisterFlagCompletionFunc("read-consistency", consistency)
	_ = c.RegisterFlagCompletionFunc("attach-consistency", consistency)
	_ = c.RegisterFlagCompletionFunc("metrics-level", cobra.FixedCompletions([]string{"aggregated", "detailed"},
		cobra.ShellCompDirectiveNoFileComp))
}

// config returns the config from the flags; a flag that is not given is zero.
func (n *nodeFlags) config() (config client.NodeConfig, err error) {
	config.SelfCheckPeriod, config.SessionGracePeriod = n.selfCheck, n.grace
	config.QuotaObjects, config.QuotaBytes, config.LongWaitThreshold = n.objects, uint64(n.bytes), n.wait
	modes := map[string]client.Consistency{"": 0, "strict": client.Strict, "relaxed": client.Relaxed}
	counters := map[string]client.MetricsLevel{"": 0, "aggregated": client.Aggregated, "detailed": client.Detailed}
	read, err := cli.OneOf("--read-consistency", n.read, modes, "strict or relaxed")
	attach, failed := cli.OneOf("--attach-consistency", n.attach, modes, "strict or relaxed")
	count, wrong := cli.OneOf("--metrics-level", n.counters, counters, "aggregated or detailed")
	config.ReadConsistency, config.AttachConsistency, config.MetricsLevel = read, attach, count
	return config, cmp.Or(err, failed, wrong)
}

func newDescribe(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "describe PATH",
		Short: "Show a node's config",
		Long: `Shows a node: id, config, and config revision, which grows with every change. A node
that is dropped and created again has a new id.`,
		Example: `  signalbox node describe /prod/jobs

  # the version, for a guarded change
  signalbox node describe /prod/jobs -o json | jq -r .config_revision`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
			n, err := box.DescribeNode(ctx, args[0])
			return printNode(f, n, err)
		}),
	}
}

func newList(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "list [PREFIX]",
		Short: "List nodes",
		Long: `Lists nodes by path, or only paths that start with PREFIX.
Use the prefix /prod/ for the nodes below /prod.`,
		Example: `  signalbox node list
  signalbox node list /prod/ -o wide
  signalbox node list -o json | jq -r .path`,
		RunE: f.Asking(func(ctx context.Context, box *client.Client, args []string) error {
			return listNodes(ctx, f, box, append(args, "")[0])
		}),
	}
}

func listNodes(ctx context.Context, f *cli.Frame, box *client.Client, prefix string) error {
	rows := f.Rows("PATH", "ID#", "GRACE#", "READS", "ATTACHES", "+SELF-CHECK#", "+COUNTERS",
		"+QUOTA OBJECTS#", "+QUOTA BYTES#", "+VERSION#")
	return cli.AddAll(rows, box.ListNodes(ctx, prefix), func(n *client.NodeInfo) {
		k := n.Config
		rows.Add(n, n.Path, n.ID,
			cmp.Or(k.SessionGracePeriod, defaultGrace), cmp.Or(k.ReadConsistency, defaultReads),
			cmp.Or(k.AttachConsistency, defaultAttaches), cmp.Or(k.SelfCheckPeriod, defaultSelfCheck),
			cmp.Or(k.MetricsLevel, defaultCounters), cmp.Or(k.QuotaObjects, meta.DefaultQuotaObjects),
			settings.Size(cmp.Or(k.QuotaBytes, meta.DefaultQuotaBytes)), n.ConfigVersion)
	})
}
