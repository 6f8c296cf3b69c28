package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/server/settings"
	"github.com/signalbox/signalbox/shard/meta"
)

// newNode returns the commands about nodes.
func newNode(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "node",
		Short: "Namespaces: create, describe, alter, drop, list",
		Long: `A node is a namespace with a path, such as /prod/jobs. Sessions and semaphores live
in one; those of different nodes know nothing of each other. Its config says how
sessions and reads behave in it. Nodes are few: one for each application, say.`,
	}, newNodeCreate(f), newNodeDescribe(f), newNodeAlter(f), newNodeList(f)))
}

// orDefault is a part of a config as tables show it.
func orDefault[T comparable](value, fallback T) string {
	var unset T
	if value == unset {
		return fmt.Sprintf("%v (default)", fallback)
	}
	return fmt.Sprint(value)
}

// printNode prints one node.
func printNode(f *cli.Frame, n *client.NodeInfo) error {
	return f.Fields(n,
		cli.Field{Name: "path", Cell: n.Path},
		cli.Field{Name: "id", Cell: n.ID},
		cli.Field{Name: "config version", Cell: n.ConfigVersion},
		cli.Field{Name: "self-check period", Cell: orDefault(n.Config.SelfCheckPeriod, defaultSelfCheck)},
		cli.Field{Name: "session grace period", Cell: orDefault(n.Config.SessionGracePeriod, defaultGrace)},
		cli.Field{Name: "read consistency", Cell: orDefault(n.Config.ReadConsistency, defaultReads)},
		cli.Field{Name: "attach consistency", Cell: orDefault(n.Config.AttachConsistency, defaultAttaches)},
		cli.Field{Name: "counters", Cell: orDefault(n.Config.Counters, defaultCounters)},
		cli.Field{Name: "quota of objects", Cell: orDefault(n.Config.QuotaObjects, meta.DefaultQuotaObjects)},
		cli.Field{Name: "quota of bytes", Cell: orDefault(settings.Size(n.Config.QuotaBytes), meta.DefaultQuotaBytes)},
		cli.Field{Name: "longest wait", Cell: longestWait(n.Config.LongestWait)},
	)
}

// longestWait is how long anybody may wait before that is a concern.
func longestWait(d time.Duration) string {
	if d <= 0 {
		return "not bounded"
	}
	return d.String()
}

// What hosts go by where a config does not say.
const (
	defaultSelfCheck = meta.DefaultSelfCheckPeriodMillis * time.Millisecond
	defaultGrace     = meta.DefaultSessionGracePeriodMillis * time.Millisecond
	defaultReads     = client.Consistency(meta.DefaultReadConsistency)
	defaultAttaches  = client.Consistency(meta.DefaultAttachConsistency)
	defaultCounters  = client.Counters(meta.DefaultRateLimiterCountersMode)
)

// nodeFlags are the flags that say a node's config.
type nodeFlags struct {
	selfCheck, grace       time.Duration
	read, attach, counters string
	objects                uint64
	bytes                  sizeFlag
	wait                   time.Duration
}

func (n *nodeFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.DurationVar(&n.selfCheck, "self-check-period", 0, "how often a leader makes sure that it leads: `DURATION` from 500ms to 10s, 1s for a new node")
	flags.DurationVar(&n.grace, "session-grace-period", 0, "what sessions get on top of their timeout when a leader changes: `DURATION` from 1s to 30s, above the self-check period; 10s for a new node")
	flags.StringVar(&n.read, "read-consistency", "", "`MODE` of reads that do not say: strict or relaxed; relaxed for a new node")
	flags.StringVar(&n.attach, "attach-consistency", "", "`MODE` in which sessions come back: strict or relaxed; strict for a new node")
	flags.StringVar(&n.counters, "counters", "", "how finely metrics count, `HOW`: aggregated, or detailed by owner too; aggregated for a new node")
	flags.Uint64Var(&n.objects, "quota-objects", 0, "how many semaphores the node may have in each shard: `NUMBER` up to 1000000, as for a new node")
	flags.Var(&n.bytes, "quota-bytes", "how much the node may take in each shard, with all that belongs to its semaphores and sessions: `SIZE` from 1MiB to 1TiB, 1GiB for a new node")
	flags.DurationVar(&n.wait, "longest-wait", 0, "how long anybody may wait for a semaphore of the node before signalbox check says so: `DURATION` up to 720h; below zero never, as for a new node")
	consistency := cobra.FixedCompletions([]string{"strict", "relaxed"}, cobra.ShellCompDirectiveNoFileComp)
	_ = c.RegisterFlagCompletionFunc("read-consistency", consistency)
	_ = c.RegisterFlagCompletionFunc("attach-consistency", consistency)
	_ = c.RegisterFlagCompletionFunc("counters", cobra.FixedCompletions([]string{"aggregated", "detailed"},
		cobra.ShellCompDirectiveNoFileComp))
}

// config returns what the flags say; what they do not is zero.
func (n *nodeFlags) config() (config client.NodeConfig, err error) {
	config.SelfCheckPeriod, config.SessionGracePeriod = n.selfCheck, n.grace
	config.QuotaObjects, config.QuotaBytes, config.LongestWait = n.objects, uint64(n.bytes), n.wait
	modes := map[string]client.Consistency{"": 0, "strict": client.Strict, "relaxed": client.Relaxed}
	if config.ReadConsistency, err = oneOf("--read-consistency", n.read, modes, "strict or relaxed"); err != nil {
		return config, err
	}
	if config.AttachConsistency, err = oneOf("--attach-consistency", n.attach, modes, "strict or relaxed"); err != nil {
		return config, err
	}
	config.Counters, err = oneOf("--counters", n.counters,
		map[string]client.Counters{"": 0, "aggregated": client.Aggregated,
			"detailed": client.Detailed}, "aggregated or detailed")
	return config, err
}

// sizeFlag is a number of bytes as a flag takes it.
type sizeFlag settings.Size

// Set reads a number with or without a unit.
func (s *sizeFlag) Set(text string) error {
	size, err := settings.ParseSize(text)
	*s = sizeFlag(size)
	return err
}

// String returns the size, nothing where there is none.
func (s *sizeFlag) String() string {
	if *s == 0 {
		return ""
	}
	return settings.Size(*s).String()
}

// Type is the word for the value in the help.
func (*sizeFlag) Type() string { return "SIZE" }

// oneOf returns the value that a word stands for.
func oneOf[T any](flag, word string, known map[string]T, choice string) (T, error) {
	value, ok := known[word]
	if !ok {
		return value, cli.Errorf(cli.ExitUsage, "%s %s: give %s", flag, cli.Safe(word), choice)
	}
	return value, nil
}

func newNodeDescribe(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "describe PATH",
		Short: "Show a node's config",
		Long: `Shows a node: its id, which a node of the same path that is made later does not
have, its config, and the version of the config, which grows with every change.`,
		Example: `  signalbox node describe /prod/jobs

  # the version, for a guarded change
  signalbox node describe /prod/jobs -o json | jq -r .config_version`,
		Args:              cli.Arguments("PATH"),
		ValidArgsFunction: f.Complete(f.Paths),
		RunE: func(c *cobra.Command, args []string) error {
			return f.Ask(c, func(ctx context.Context, box *client.Client) error {
				n, err := box.DescribeNode(ctx, args[0])
				if err != nil {
					return err
				}
				return printNode(f, n)
			})
		},
	}
}

func newNodeList(f *cli.Frame) *cobra.Command {
	return &cobra.Command{
		Use:   "list [PREFIX]",
		Short: "List nodes",
		Long: `Lists the nodes whose paths begin with PREFIX, letter by letter, in order of their
paths; all without it. What is below /prod is listed with /prod/.`,
		Example: `  signalbox node list
  signalbox node list /prod/ -o wide
  signalbox node list -o json | jq -r .path`,
		Args:              cli.Arguments("[PREFIX]"),
		ValidArgsFunction: f.Complete(f.Paths),
		RunE: func(c *cobra.Command, args []string) error {
			prefix := ""
			if len(args) > 0 {
				prefix = args[0]
			}
			return f.Ask(c, func(ctx context.Context,
				box *client.Client) error {
				return listNodes(ctx, f, box, prefix)
			})
		},
	}
}

func listNodes(ctx context.Context, f *cli.Frame, box *client.Client, prefix string) error {
	rows := f.Rows("PATH", "ID#", "GRACE#", "READS", "ATTACHES", "+SELF-CHECK#", "+COUNTERS",
		"+QUOTA OBJECTS#", "+QUOTA BYTES#", "+VERSION#")
	return cli.AddAll(rows, box.ListNodes(ctx, prefix), func(n *client.NodeInfo) error {
		k := n.Config
		return rows.Add(n, n.Path, n.ID,
			cmp.Or(k.SessionGracePeriod, defaultGrace), cmp.Or(k.ReadConsistency, defaultReads),
			cmp.Or(k.AttachConsistency, defaultAttaches), cmp.Or(k.SelfCheckPeriod, defaultSelfCheck),
			cmp.Or(k.Counters, defaultCounters), cmp.Or(k.QuotaObjects, meta.DefaultQuotaObjects),
			settings.Size(cmp.Or(k.QuotaBytes, meta.DefaultQuotaBytes)), n.ConfigVersion)
	})
}
