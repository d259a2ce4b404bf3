//! Origin buffers are borrowed until the epoch or batch ends.
use onesided::{Access, LockAssert, Rank, Result, Window};

fn modified(window: &mut Window<u64>) -> Result<()> {
    let mut buffer = vec![1; 4];
    let epoch = window.lock_all()?;
    epoch.put(&buffer, Rank(0), 0)?;
    buffer[0] = 2; //~ E0502
    epoch.unlock_all()?;
    Ok(())
}

fn moved(window: &mut Window<u64>) -> Result<()> {
    let buffer = vec![1; 4];
    let epoch = window.lock_all()?;
    epoch.put(&buffer, Rank(0), 0)?;
    let _elsewhere = buffer; //~ E0505
    epoch.unlock_all()?;
    Ok(())
}

fn dropped(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.lock_all()?;
    {
        let buffer = vec![1; 4];
        epoch.put(&buffer, Rank(0), 0)?; //~ E0597 LockAllEpoch
    }
    epoch.unlock_all()?;
    Ok(())
}

fn read(window: &mut Window<u64>) -> Result<u64> {
    let mut buffer = vec![0; 4];
    let epoch = window.lock_all()?;
    epoch.get(&mut buffer, Rank(0), 0)?;
    let early = buffer[0]; //~ E0502
    epoch.unlock_all()?;
    Ok(early)
}

fn main() {}
