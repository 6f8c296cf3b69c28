package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/runner"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/protocol"
)

// sourceCommand is one run of rollout source.
type sourceCommand struct {
	runner.SessionRunner
	source string
	label  string
}

func newSource(f *cli.Frame) *cobra.Command {
	w := &sourceCommand{SessionRunner: newRunner(f)}
	c := &cobra.Command{
		Use:   "source PATH NAME [flags] -- COMMAND [ARGUMENT...]",
		Short: "Provide versions when the rollout requests them",
		Long: `Runs a source for a rollout created with --version-source requested. When the first
location is ready for a version, COMMAND is run, and its standard output, up to 64 KiB,
is the version's payload. The environment of COMMAND has SIGNALBOX_NODE and
SIGNALBOX_ROLLOUT; standard input is empty.

If the exit status is not 0 there is no version for now, and the last line of standard
error is kept as the reason. COMMAND is run again after the --source-interval of the
rollout. Status 75 means that there is no version yet, which is not a failure.

Several sources may run: if a source is gone, the next source takes over.

` + runner.SessionHelp,
		Example: `  signalbox rollout source /prod feed -- ./newest-timestamp

  signalbox rollout source /prod feed --source feeder-1 -- sh -c 'date +%s'`,
		DisableFlagsInUseLine: true, // the flags precede the --
		RunE: func(c *cobra.Command, args []string) error {
			if err := w.Prepare(c, args); err != nil {
				return err
			}
			w.source = cmp.Or(w.source, cli.UserAtMachine(f))
			return w.Serve(c, w.answer)
		},
	}
	c.Flags().StringVar(&w.source, "source", "", "Source `NAME` shown to operators. Default: USER@MACHINE")
	c.Flags().StringVar(&w.label, "label", "", "Version label for people, `TEXT`")
	w.AddFlags(c)
	return c
}

// answer answers questions until the context ends.
func (c *sourceCommand) answer(ctx context.Context, s *client.Session, _ *cli.Connection) error {
	var failure error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.Note("%s is a source of %s", cli.Safe(c.source), cli.Safe(c.Name))
	err := rollout.Source(ctx, s, c.Name, func(ctx context.Context) (rollout.Version, error) {
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

// notRunError means that the command could not be run at all.
type notRunError struct{ error }

func (e notRunError) Unwrap() error { return e.error }

// version runs the command for a version.
func (c *sourceCommand) version(ctx context.Context) (rollout.Version, error) {
	payload := &runner.LimitedBuffer{}
	out, err := c.Run(ctx, nil, payload, nil)
	switch {
	case errors.Is(err, runner.ErrStopping):
		return rollout.Version{}, err
	case err != nil:
		return rollout.Version{}, notRunError{err}
	case out.Status == runner.ExitAgain && out.Last != "":
		return rollout.Version{}, errors.New(out.Last)
	case out.Err() != nil:
		c.Note("no version: %v", out.Err())
		return rollout.Version{}, out.Err()
	case payload.Over:
		err := fmt.Errorf("the command printed more than %d bytes", protocol.MaxRolloutPayloadBytes)
		c.Note("no version: %v", err)
		return rollout.Version{}, err
	}
	c.Note("provided a version with %s", operation.Plural(payload.Len(), "byte"))
	return rollout.Version{Payload: payload.Bytes(), Label: c.label, By: rollout.ChangeInfo{Author: c.source}}, nil
}
