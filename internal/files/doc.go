// Package files opens, makes, replaces and removes files and folders where another process could
// exchange what is at a path meanwhile, or could read what is in it.
//
//	folder      the folder in which a daemon keeps its own files: [Keep], [OpenPrivate]
//	private     files with secrets, which other users may not read or write: [ReadPrivate], [CheckOwned]
//	replace     a file is replaced as a whole, or not: [Replace], [Rewrite]; one process at a time: [Lock]
//	regular     folders that tasks and executors may write in, by [os.Root]: [Below], [OpenRegular], [Give]
//	walk        what is in such a folder: [Walk]
//	text        files that people write: [ReadText]
//	watch       a function is called when a file changes: [NewWatcher]
//	remove      such folders with all that is in them: [RemoveAll], [RemoveIn]
package files
