package engine_test

import (
	"bytes"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/signalbox/signalbox/test/clienttest"
	"github.com/signalbox/signalbox/test/engine"
)

// runs is the number of runs per bug.
var runs = flag.Int("bugs.runs", 1, "how often the fault that is to notice a bug is played")

// Directed faults that detect bugs.
const (
	alone            = "power of a host alone fails at every step"
	atSegments       = "power fails while segments are made and removed"
	acknowledgement  = "all power fails right after an acknowledgement"
	vote             = "power fails right after a vote"
	changes          = "power fails right after changes of the members"
	voterLeft        = "power of the voter that is left fails"
	oldLeader        = "a leader is cut off, and read from"
	writtenTo        = "a leader is cut off, and written to"
	readers          = "many read while others write"
	afterSnapshot    = "power fails right after a snapshot"
	afterInstall     = "power fails right after a snapshot of another host"
	lostArrival      = "it is lost that a snapshot of another host has arrived"
	leadersChange    = "leaders change while a host that lacks entries is read from"
	addresses        = "two hosts swap their addresses"
	stranger         = "a stranger is in the place of a host"
	startedAgain     = "a replica that was discarded is started again"
	twice            = "frames come twice"
	older            = "a directory is set back"
	olderVote        = "a directory is set back to before a vote"
	raftlogDirectory = "../../shard/raftlog/"
)

// mistakes are bugs in the log, its store, its files, the replica records, and the membership.
var mistakes = []clienttest.Bug{
	{
		Name: "a vote is not durable", File: "logdb/replica.go", Noticed: vote,
		Is:      "r.state.Term != r.logged.Term || r.state.Vote != r.logged.Vote || c.snapshot != nil",
		Becomes: "r.state.Term != r.logged.Term && r.state.Vote == 0 || c.snapshot != nil",
	}, {
		Name: "an entry is acknowledged before the sync", File: "logdb/db.go", Noticed: acknowledgement,
		Is:      "\treturn db.log.Sync(last)\n",
		Becomes: "\tif len(updates) > 0 {\n\t\treturn nil\n\t}\n\treturn db.log.Sync(last)\n",
	}, {
		Name: "the log is written and not synced", File: "wal/buffer.go", Noticed: acknowledgement,
		Is: "\treturn s.file.SyncData()\n", Becomes: "\treturn nil\n",
	}, {
		Name: "a segment's name is not synced", File: "wal/maker.go", Noticed: atSegments,
		Is:      "\tif err := SyncDirectory(l.options.Disk, l.options.Dir); err != nil {",
		Becomes: "\tif err := error(nil); err != nil {",
	}, {
		Name: "a segment has its name before its header is durable", File: "wal/maker.go", Noticed: atSegments,
		Is:      "\tif err := s.file.SyncData(); err != nil {",
		Becomes: "\tif err := error(nil); err != nil {",
	}, {
		Name: "a segment is removed and the log does not say so", File: "wal/reclaim.go", Noticed: atSegments,
		Is: "\tif !l.noteFirst(oldest.number + 1) {", Becomes: "\tif oldest == nil {",
	}, {
		Name: "what is rewritten counts late", File: "logdb/replica.go", Noticed: atSegments,
		Is: "\t\tif c.rewritten {\n", Becomes: "\t\tif c.rewritten && r == nil {\n",
	}, {
		Name: "what is needed of a record is not counted", File: "logdb/replica.go", Noticed: atSegments,
		Is:      "\tr.db.log.Need(changed.place.Segment, int64(runs)*int64(changed.place.Bytes))",
		Becomes: "\t_ = changed.place",
	}, {
		Name: "a file has its name before it is synced", File: "wholefile.go", Noticed: changes,
		Is: "\terr := w.File.Sync()\n", Becomes: "\tvar err error\n",
	}, {
		Name: "the name of a record is not synced", File: "wholefile.go", Noticed: changes,
		Is: "\treturn wal.SyncDirectory(fs, filepath.Dir(name))", Becomes: "\t_ = wal.SyncDirectory\n\treturn nil",
	}, {
		Name: "the data directory's name is not synced", File: "directory.go", Noticed: alone,
		Is:      "\t\treturn err\n\t}\n\treturn wal.SyncDirectory(disk, above)",
		Becomes: "\t\treturn err\n\t}\n\treturn nil",
	}, {
		Name: "a replica that joins is not on record", File: "join.go", Noticed: changes,
		Is: "\t\terr = h.replicas.set(shardID, record)", Becomes: "\t\terr = nil",
	}, {
		Name: "a replica that was discarded is on record", File: "join.go", Noticed: changes,
		Is:      "\tif err := h.replicas.set(shardID, h.replica(shardID).discard(replica)); err != nil {",
		Becomes: "\tif err := error(nil); err != nil {",
	}, {
		Name: "a removal is not outlasted", File: "change.go", Noticed: voterLeft,
		Is: "\treturn l.outlast(ctx, request)", Becomes: "\treturn nil",
	}, {
		Name: "a barrier needs no majority", File: "barrier.go", Noticed: oldLeader,
		Is: "\t\treturn errRoundTimeout\n\tcase <-l.stop:", Becomes: "\t\treturn nil\n\tcase <-l.stop:",
	}, {
		Name: "a barrier joins a round that is under way", File: "barrier.go", Noticed: readers,
		Is:      "\t\t\tanswer(taken, nil)\n",
		Becomes: "\t\t\tanswer(taken, nil)\n\t\t\tanswer(b.drain(nil), nil)\n",
	}, {
		Name: "a batch without an outcome counts as applied", File: "proposal.go", Noticed: writtenTo,
		Is: "\t\t\treturn shard.OutcomeUnknown //", Becomes: "\t\t\treturn shard.OutcomeApplied //",
	}, {
		Name: "a replica that was discarded starts again", File: "replicas.go", Noticed: startedAgain,
		Is:      "\tcase slices.Contains(r.Discarded, replica):\n\t\treturn r,",
		Becomes: "\tcase slices.Contains(r.Discarded, 0):\n\t\treturn r,",
	}, {
		Name: "another incarnation is let in", File: "transport/verdict.go", Noticed: stranger,
		Is: "\tcase h.Incarnation != peer.Incarnation:", Becomes: "\tcase h.ID != peer.Host:",
	}, {
		Name: "a host of another cluster is let in", File: "transport/verdict.go", Noticed: stranger,
		Is: "\tcase peer.Deployment != self.Deployment:", Becomes: "\tcase peer.Deployment == 0:",
	}, {
		Name: "a frame counts however often it comes", File: "transport/mac.go", Noticed: twice,
		Is: "\tm.next++\n", Becomes: "",
	}, {
		Name: "an older copy is let in", File: "transport/verdict.go", Noticed: older,
		Is: "\tcase peer.Behind != nil:", Becomes: "\tcase peer.Behind != nil && peer.Host == 0:",
	}, {
		Name: "a vote does not count as confirmed", File: "confirmed.go", Noticed: olderVote,
		Is: "\t\tcase m.Type == raftpb.RequestVote, m.Type == raftpb.RequestVoteResp:\n", Becomes: "",
	}, {
		Name: "a snapshot is not synced", File: "disk.go", Noticed: afterSnapshot,
		Is: "// Write implements vfs.File.\nfunc (p piecewise) Write",
		Becomes: "func (p piecewise) Sync() error { return nil }\n\n" +
			"func (p piecewise) Close() error { return nil }\n\nfunc (p piecewise) Write",
	}, {
		Name: "the record of a snapshot is not synced", File: "logdb/db.go", Noticed: afterSnapshot,
		Is: "\t\tif at.Bytes > 0 {\n\t\t\tlast = at\n", Becomes: "\t\tif at.Bytes == 0 {\n\t\t\tlast = at\n",
	}, {
		Name: "a snapshot of another host is not durable", File: "logdb/db.go", Noticed: afterInstall,
		Is: "\t\tif durable {\n", Becomes: "\t\tif durable && pb.IsEmptySnapshot(u.Snapshot) {\n",
	}, {
		Name: "a barrier counts whose round an election has ended", File: "barrier.go", Noticed: leadersChange,
		Is: "\t\treturn errRoundAbandoned\n", Becomes: "\t\treturn nil\n",
	}, {
		Name: "a host is taken for the one whose address it has", File: "transport/verdict.go", Noticed: addresses,
		Is:      "\tif peer.Target() != meant.Target() {",
		Becomes: "\tif peer.Target() != meant.Target() && peer.Host == 0 {",
	}, {
		Name: "a snapshot that is there already is refused", File: "transport/admission.go", Noticed: lostArrival,
		Is: "\tif a.known = a.known || ", Becomes: "\tif a.known = a.known && ",
	},
}

// TestBugsInTheSourceAreNoticed plants bugs in the production log's source. A directed fault detects each bug.
func TestBugsInTheSourceAreNoticed(t *testing.T) {
	for _, bug := range clienttest.ToPlant(t, mistakes, 1) {
		t.Run(bug.Name, func(t *testing.T) {
			noticed := bug.Noticed
			bug.File = raftlogDirectory + bug.File
			program := filepath.Join(t.TempDir(), "engine.test")
			build := exec.CommandContext(t.Context(), "go", "test", "-overlay", bug.Overlay(t), "-vet=off",
				"-ldflags=-s -w", "-c", "-o", program, ".")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for i := range *runs {
				out, err := engine.Apart(t.Context(), program, "-test.run=^TestDirectedFaults$", "-directed="+noticed,
					fmt.Sprint("-seed=", i+1), "-keep="+t.TempDir(), "-test.timeout=2m")
				if err == nil || !bytes.Contains(out, []byte("directed fault")) {
					t.Errorf("run %d: %q does not notice it: %v\n%s", i+1, noticed, err, out)
				}
			}
		})
	}
}
