package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/protocol"
)

// sourceCommand is one run of rollout source.
type sourceCommand struct {
	sessionRunner
	source string
	label  string
}

func newRolloutSource(f *cli.Frame) *cobra.Command {
	w := &sourceCommand{sessionRunner: newRolloutRunner(f)}
	c := &cobra.Command{
		Use:   "source PATH NAME [flags] -- COMMAND [ARGUMENT...]",
		Short: "Make versions when the rollout asks for them",
		Long: `Takes the role of a source in a rollout that was created with --source asked: whenever
the first location is ready for a version, COMMAND is run, and what it prints on
standard output, up to 64 KiB, is the version. It finds SIGNALBOX_NODE and
SIGNALBOX_ROLLOUT in its environment, and nothing on its standard input.

Where its exit status is not 0 there is no version now, and what it wrote last to
standard error, a line, is kept as the reason. It is asked again after the
--ask-interval of the rollout. The status 75 says that there is none yet, which is no
failure.

There can be several sources: the next one is asked when the one before is gone.

` + runnerHelp,
		Example: `  signalbox rollout source /prod feed -- ./newest-timestamp

  signalbox rollout source /prod feed --source feeder-1 -- sh -c 'date +%s'`,
		DisableFlagsInUseLine: true, // they stand before the --
		ValidArgsFunction:     f.Complete(f.Paths, completeRollouts(f)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := w.prepare(c, args); err != nil {
				return err
			}
			if w.source == "" {
				w.source = userAtMachine(f)
			}
			return w.serve(c, w.answer)
		},
	}
	c.Flags().StringVar(&w.source, "source", "", "the `NAME` that others know the source by; USER@MACHINE where it is not given")
	c.Flags().StringVar(&w.label, "label", "", "what people call the versions, `TEXT`")
	w.addFlags(c)
	return c
}

// answer answers questions until the context ends.
func (c *sourceCommand) answer(ctx context.Context, s *client.Session, _ *cli.Connection) error {
	var failure error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.note("%s is a source of %s", cli.Safe(c.source), cli.Safe(c.name))
	err := rollout.Source(ctx, s, c.name, func(ctx context.Context) (rollout.Version, error) {
		v, err := c.version(ctx)
		if failed, ok := errors.AsType[notRunError](err); ok {
			failure = failed
			cancel()
		}
		return v, err
	}, rollout.SourceName(c.source))
	if failure != nil {
		return failure
	}
	return err
}

// notRunError says that the command could not be run at all.
type notRunError struct{ error }

func (e notRunError) Unwrap() error { return e.error }

// version runs the command for a version.
func (c *sourceCommand) version(ctx context.Context) (rollout.Version, error) {
	payload := &limitedBuffer{}
	out, err := c.run(ctx, nil, payload, nil)
	switch {
	case errors.Is(err, errStopping):
		return rollout.Version{}, err
	case err != nil:
		return rollout.Version{}, notRunError{err}
	case out.Status == exitAgain && out.last != "":
		return rollout.Version{}, errors.New(out.last)
	case out.err() != nil:
		c.note("no version: %v", out.err())
		return rollout.Version{}, out.err()
	case payload.over:
		err := fmt.Errorf("the command printed more than %d bytes", protocol.MaxRolloutPayloadBytes)
		c.note("no version: %v", err)
		return rollout.Version{}, err
	}
	c.note("made a version with %s", operation.Plural(payload.Len(), "byte"))
	return rollout.Version{Payload: payload.Bytes(), Label: c.label, By: rollout.By{Author: c.source}}, nil
}

// limitedBuffer keeps what fits into a version.
type limitedBuffer struct {
	bytes.Buffer
	over bool // there was more
}

// Write implements io.Writer.
func (l *limitedBuffer) Write(text []byte) (int, error) {
	if l.over = l.over || l.Len()+len(text) > protocol.MaxRolloutPayloadBytes; !l.over {
		l.Buffer.Write(text)
	}
	return len(text), nil
}
