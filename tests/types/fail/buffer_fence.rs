//! Origin buffers are borrowed until the epoch or batch ends.
use onesided::{Access, FenceAssert, Rank, Result, Window};

fn modified(window: &mut Window<u64>) -> Result<()> {
    let mut buffer = vec![1; 4];
    let epoch = window.fence()?;
    epoch.put(&buffer, Rank(0), 0)?;
    buffer[0] = 2; //~ E0502
    epoch.close()?;
    Ok(())
}

fn moved(window: &mut Window<u64>) -> Result<()> {
    let buffer = vec![1; 4];
    let epoch = window.fence()?;
    epoch.put(&buffer, Rank(0), 0)?;
    let _elsewhere = buffer; //~ E0505
    epoch.close()?;
    Ok(())
}

fn dropped(window: &mut Window<u64>) -> Result<()> {
    let epoch = window.fence()?;
    {
        let buffer = vec![1; 4];
        epoch.put(&buffer, Rank(0), 0)?; //~ E0597 FenceEpoch
    }
    epoch.close()?;
    Ok(())
}

fn read(window: &mut Window<u64>) -> Result<u64> {
    let mut buffer = vec![0; 4];
    let epoch = window.fence()?;
    epoch.get(&mut buffer, Rank(0), 0)?;
    let early = buffer[0]; //~ E0502
    epoch.close()?;
    Ok(early)
}

fn main() {}
