package protocol

// backupExamples are the examples for backups.
var backupExamples = []example{
	{"backup-describe", request(80, &BackupDescribe{})},
	{"backup-describe-answer", answer(80, &BackupDescribeAnswer{
		ClusterID: []byte("prod-1"), Generation: Generation{Number: 1, Nonce: exampleIncarnation()},
		ShardIDs: list[ShardID](new(ShardID(1)), new(ShardID(2)), new(ShardID(5))), Level: 4,
		HostVersion: []byte("1.4.0"),
	})},
	{"backup-begin", request(81, &BackupBegin{ShardID: 3})},
	{"backup-begin-answer", answer(81, &BackupBeginAnswer{StateID: 7, Term: 5, Index: 123_456,
		Slots: list[SlotRange](&SlotRange{First: 1000, Last: 1668, ShardID: 3},
			&SlotRange{First: 1669, Last: 1669, ShardID: 5, Generation: 1})})},
	{"backup-begin-moved", failure(81, KindBackupBegin, Result{
		Status: StatusMoved,
		Moved:  Moved{ShardID: 3, LeaderHostID: 2, LeaderAddress: "signal-2:7420", RoutingVersion: 42},
	})},
	{"backup-read", request(82, &BackupRead{StateID: 7})},
	{"backup-read-answer", answer(82, &BackupReadAnswer{Piece: []byte("signalbox shard\n"), Done: true})},
	{"backup-read-given-up", failure(82, KindBackupRead, Result{
		Status: StatusNotFound, Message: "there is no state of this number over this connection",
	})},
	{"backup-end", request(83, &BackupEnd{StateID: 7})},
	{"backup-end-answer", answer(83, &BackupEndAnswer{})},
}
