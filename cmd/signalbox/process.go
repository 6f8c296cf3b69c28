package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// newProcess returns the commands about coordination processes.
func newProcess(f *cli.Frame) *cobra.Command {
	return f.Command(cli.Group(&cobra.Command{
		Use:   "process",
		Short: "Rounds of coordination: run, send, status, why, restart and more",
		Long: `The members of a process agree, epoch by epoch, on who they are. In each epoch one of
them coordinates: it sends requests to the others and gets their replies, until it
completes the round, or until the next epoch ends it. Who joins, leaves or dies causes
another epoch; who only reconnects does not.

Members are programs that use package client/process, or signalbox process run.`,
	}, newProcessCreate(f), newProcessAlter(f), newProcessStatus(f), newProcessWhy(f),
		newProcessWatch(f), newProcessMembers(f), newProcessResults(f), newProcessKick(f), newProcessSend(f),
		newProcessRun(f)))
}

// completeProcesses completes the name of a process in the node that the first argument is the path of.
func completeProcesses(f *cli.Frame) cli.Completion {
	return f.CompleteBy(func(ctx context.Context, box *client.Client, args []string, begun string,
		add func(text string) bool) {
		for s, err := range process.List(ctx, box, args[0], process.Prefix(begun)) {
			if err != nil || !add(s.Name) {
				return
			}
		}
	})
}

// completeMembers completes the name of a member of the process that the first two arguments name.
func completeMembers(f *cli.Frame) cli.Completion {
	return f.CompleteBy(func(ctx context.Context, box *client.Client, args []string, _ string,
		add func(text string) bool) {
		if len(args) < 2 {
			return
		}
		members, _ := process.Of(box, args[0], args[1]).Members(ctx)
		for i := range members {
			if !add(members[i].Name) {
				return
			}
		}
	})
}
